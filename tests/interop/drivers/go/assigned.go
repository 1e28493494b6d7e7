// The partitions of a member, as the callbacks of its client tell them.
package main

import "sync"

type assigned struct {
	lock       sync.Mutex
	partitions map[int32]bool
}

func (a *assigned) set(partitions []int32, is bool) {
	a.lock.Lock()
	defer a.lock.Unlock()
	for _, partition := range partitions {
		if is {
			a.partitions[partition] = true
		} else {
			delete(a.partitions, partition)
		}
	}
}

func (a *assigned) list() []int32 {
	a.lock.Lock()
	defer a.lock.Unlock()
	list := []int32{}
	for partition := range a.partitions {
		list = append(list, partition)
	}
	return list
}
