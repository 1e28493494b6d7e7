//! Tests of the buffers for direct reads.

use bytes::Bytes;

use crate::io::{DirectBuffer, DirectBuffers};

const BLOCK: usize = DirectBuffer::ALIGNMENT;

#[test]
fn there_are_never_more_buffers_than_allowed() {
    let buffers = DirectBuffers::new(2, BLOCK);
    let (mut first, second) = (buffers.take().unwrap(), buffers.take().unwrap());
    assert!(buffers.take().is_none());
    let filled: Result<(), ()> = first.fill(BLOCK, |part, _| Ok(part.len()));
    assert_eq!(filled, Ok(()));
    let sent = Bytes::from_owner(first);
    let part = sent.slice(..1);
    drop(sent);
    assert!(buffers.take().is_none(), "a part of it is still in use");
    drop(part);
    let third = buffers.take().unwrap();
    assert_eq!(buffers.count(), 2, "its memory is reused");
    drop((second, third));
    buffers.release_free();
    assert_eq!(buffers.count(), 0);
}

#[test]
fn a_buffer_is_aligned_and_holds_what_was_read() {
    let buffers = DirectBuffers::new(1, 3 * BLOCK);
    let mut buffer = buffers.take().unwrap();
    assert!(buffer.as_ref().is_empty());
    let mut calls = Vec::new();
    let filled: Result<(), ()> = buffer.fill(BLOCK + 1, |part, before| {
        assert!(part.as_ptr().cast::<u8>().addr().is_multiple_of(BLOCK));
        calls.push((part.len(), before));
        part[..BLOCK].fill(7);
        Ok(BLOCK)
    });
    assert_eq!(filled, Ok(()));
    assert_eq!(calls, [(2 * BLOCK, 0), (BLOCK, BLOCK)]);
    assert_eq!(buffer.as_ref(), [7; 2 * BLOCK]);

    let filled: Result<(), ()> = buffer.fill(9 * BLOCK, |part, before| {
        assert_eq!((part.len(), before), (3 * BLOCK, 0), "no more than its capacity");
        Ok(10)
    });
    assert_eq!(filled, Ok(()));
    assert_eq!(buffer.as_ref().len(), 10, "the file ends in a block");
    assert_eq!(buffer.fill(1, |_, _| Err("fails")), Err("fails"));
    assert!(buffer.as_ref().is_empty(), "the bytes of an earlier read are gone");
}
