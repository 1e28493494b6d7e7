// The driver's end of the line protocol, and the choice of the client.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sort"
	"time"
)

// header is a pair of a name and a value, null or not.
type header struct {
	name  string
	value []byte
}

func (h header) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{h.name, h.value})
}

func (h *header) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&h.name, &h.value})
}

// record is a record as the protocol has it; encoding/json makes base64 of bytes by itself.
type record struct {
	Partition int32    `json:"partition"`
	Offset    int64    `json:"offset"`
	Key       []byte   `json:"key"`
	Value     []byte   `json:"value"`
	Headers   []header `json:"headers"`
	Timestamp *int64   `json:"timestamp"`
}

// position is where reading begins: an end, an offset or a time.
type position struct {
	end    string
	Offset *int64 `json:"offset"`
	Time   *int64 `json:"time"`
}

func (p *position) UnmarshalJSON(text []byte) error {
	if text[0] == '"' {
		return json.Unmarshal(text, &p.end)
	}
	type plain position
	return json.Unmarshal(text, (*plain)(p))
}

type request struct {
	Verb       string
	Topic      string
	Partitions int32
	Config     map[string]string
	Codec      string
	Acks       string
	Idempotent bool
	Records    []record
	Partition  int32
	From       position
	Count      int
	Seconds    float64
	Offset     int64
	Group      string
	SessionMs  int64 `json:"session_ms"`
}

func (r request) wait() time.Duration {
	return time.Duration(r.Seconds * float64(time.Second))
}

// refusal is an error that has one of the protocol's words.
type refusal struct {
	kind  string
	cause error
}

func (r refusal) Error() string { return r.cause.Error() }

// verbs is what a client may be asked for.
type verbs interface {
	create(request) error
	delete(request) error
	produce(request) ([]*int64, error)
	open(request) error
	read(request) ([]record, error)
	seek(request) error
	join(request) error
	poll(request) ([]record, []int32, error)
	commit() error
	leave() error
}

type answer map[string]any

func execute(client string, v verbs, r request) (answer, error) {
	switch r.Verb {
	case "hello":
		return answer{"client": client, "version": versionOf(modules[client])}, nil
	case "create":
		return answer{}, v.create(r)
	case "delete":
		return answer{}, v.delete(r)
	case "produce":
		offsets, err := v.produce(r)
		return answer{"offsets": offsets}, err
	case "open":
		return answer{}, v.open(r)
	case "read":
		records, err := v.read(r)
		return answer{"records": records}, err
	case "seek":
		return answer{}, v.seek(r)
	case "join":
		return answer{}, v.join(r)
	case "poll":
		records, assignment, err := v.poll(r)
		sort.Slice(assignment, func(i, j int) bool { return assignment[i] < assignment[j] })
		return answer{"records": records, "assignment": assignment}, err
	case "commit":
		return answer{}, v.commit()
	case "leave":
		return answer{}, v.leave()
	}
	return nil, fmt.Errorf("no verb %q", r.Verb)
}

func answerTo(client string, v verbs, line []byte) answer {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return answer{"error": "other", "text": err.Error()}
	}
	ok, err := execute(client, v, r)
	if err == nil {
		return answer{"ok": ok}
	}
	kind := "other"
	var known refusal
	if errors.As(err, &known) {
		kind = known.kind
	}
	return answer{"error": kind, "text": err.Error()}
}

var modules = map[string]string{
	"franz-go": "github.com/twmb/franz-go",
	"sarama":   "github.com/IBM/sarama",
}

// versionOf is the version of a module that is linked into this program.
func versionOf(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			return dependency.Version[1:]
		}
	}
	return "unknown"
}

func main() {
	client, address := os.Args[1], os.Args[2]
	var v verbs
	switch client {
	case "franz-go":
		v = &franz{address: address}
	case "sarama":
		v = &saramaDriver{address: address}
	default:
		panic("no client " + client)
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		if err := out.Encode(answerTo(client, v, line)); err != nil {
			panic(err)
		}
	}
}
