//! ZooKeeper's encoding, Jute: big-endian numbers, and strings and buffers with their length.

use bytes::{Buf, BufMut};

/// The bytes violate the protocol; the connection cannot be used any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server's answer cannot be read")]
pub(super) struct Garbled;

/// A message under construction.
#[derive(Clone, Debug, Default)]
pub(super) struct Encoder {
    bytes: Vec<u8>,
}

impl Encoder {
    pub(super) fn int(&mut self, value: i32) -> &mut Self {
        self.bytes.put_i32(value);
        self
    }

    pub(super) fn long(&mut self, value: i64) -> &mut Self {
        self.bytes.put_i64(value);
        self
    }

    pub(super) fn boolean(&mut self, value: bool) -> &mut Self {
        self.bytes.put_u8(u8::from(value));
        self
    }

    pub(super) fn buffer(&mut self, value: &[u8]) -> &mut Self {
        // A message of this length would exceed the limit of a frame, which the caller checks.
        self.int(i32::try_from(value.len()).unwrap_or(i32::MAX));
        self.bytes.put_slice(value);
        self
    }

    pub(super) fn string(&mut self, value: &str) -> &mut Self {
        self.buffer(value.as_bytes())
    }

    pub(super) fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }
}

/// The rest of a received message.
#[derive(Clone, Debug)]
pub(super) struct Decoder<'a> {
    rest: &'a [u8],
}

impl<'a> Decoder<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) fn int(&mut self) -> Result<i32, Garbled> {
        self.rest.try_get_i32().map_err(|_| Garbled)
    }

    pub(super) fn long(&mut self) -> Result<i64, Garbled> {
        self.rest.try_get_i64().map_err(|_| Garbled)
    }

    pub(super) fn boolean(&mut self) -> Result<bool, Garbled> {
        self.rest.try_get_u8().map(|byte| byte != 0).map_err(|_| Garbled)
    }

    /// A buffer; a missing one is read as empty.
    pub(super) fn buffer(&mut self) -> Result<&'a [u8], Garbled> {
        let length = self.int()?;
        if length == -1 {
            return Ok(&[]);
        }
        let length = usize::try_from(length).map_err(|_| Garbled)?;
        self.rest.split_off(..length).ok_or(Garbled)
    }

    pub(super) fn string(&mut self) -> Result<&'a str, Garbled> {
        str::from_utf8(self.buffer()?).map_err(|_| Garbled)
    }

    /// The bytes that have not been read.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_message_decodes_to_what_was_encoded(
            int in any::<i32>(),
            long in any::<i64>(),
            boolean in any::<bool>(),
            buffer in prop::collection::vec(any::<u8>(), 0..40),
            string in ".{0,20}",
        ) {
            let mut encoder = Encoder::default();
            encoder.int(int).long(long).boolean(boolean).buffer(&buffer);
            let bytes = encoder.string(&string).finish();
            let mut decoder = Decoder::new(&bytes);
            prop_assert_eq!(decoder.int(), Ok(int));
            prop_assert_eq!(decoder.long(), Ok(long));
            prop_assert_eq!(decoder.boolean(), Ok(boolean));
            prop_assert_eq!(decoder.buffer(), Ok(&buffer[..]));
            prop_assert_eq!(decoder.string(), Ok(&string[..]));
            prop_assert_eq!(decoder.rest(), b"");
            prop_assert_eq!(decoder.int(), Err(Garbled));
        }
    }

    #[test]
    fn a_length_beyond_the_message_is_garbled_and_a_missing_buffer_is_empty() {
        assert_eq!(Decoder::new(&[0, 0, 0, 9, 1]).buffer(), Err(Garbled));
        assert_eq!(Decoder::new(&[0xff, 0xff, 0xff, 0xfe]).buffer(), Err(Garbled));
        assert_eq!(Decoder::new(&[0xff; 4]).buffer(), Ok(&b""[..]));
        assert_eq!(Decoder::new(&[0, 0, 0, 1, 0xff]).string(), Err(Garbled));
    }
}
