//! Framing of requests and responses: length, header, body.
//!
//! ```text
//! request:  i32 length | i16 key | i16 version | i32 correlation id | text client id | tags | body
//! response: i32 length | i32 correlation id | tags | body
//! ```
//!
//! Flexible versions have compact lengths and tagged fields, with two exceptions: the client id
//! always has the classic `i16` length, and the header of a response to `ApiVersions` never has
//! tagged fields, so that a client can read it before a version has been negotiated. Incoming
//! frames have no length prefix, which the connection has removed; outgoing frames have it.

use std::ops::RangeInclusive;

use bytes::Bytes;

use super::records::EncodedFrame;
use super::{ApiKey, Layout, Reader, Wire, WireError, Writer};

/// The body of a request, with its API, its supported versions, and the type of its response.
pub trait Message: Wire + Send + Sync {
    /// The API.
    const KEY: ApiKey;

    /// The supported versions.
    const VERSIONS: RangeInclusive<i16>;

    /// The body of the response.
    type Response: Wire + Send;
}

/// The header of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHeader<'a> {
    /// The API.
    pub api_key: ApiKey,
    /// The version, which has not been checked yet.
    pub version: i16,
    /// The correlation id, which the response must repeat.
    pub correlation_id: i32,
    /// The client id.
    pub client_id: Option<&'a str>,
}

impl<'a> RequestHeader<'a> {
    /// Decodes the header of a frame, and returns it with a reader positioned at the body.
    ///
    /// The version is not checked: an `ApiVersions` request of any version must be answered.
    pub fn decode(frame: &'a [u8]) -> Result<(Self, Reader<'a>), WireError> {
        let mut reader = Reader::new(frame, Layout::classic(0));
        let api_key = ApiKey::decode(&mut reader)?;
        let version = i16::decode(&mut reader)?;
        let correlation_id = i32::decode(&mut reader)?;
        let client_id = reader.read_text()?;
        reader.set_layout(Layout::of(api_key, version));
        reader.read_tags(|_, _| Ok(false))?;
        Ok((Self { api_key, version, correlation_id, client_id }, reader))
    }

    /// Decodes the body. Bytes after it are ignored, as in Kafka.
    pub fn decode_body<R: Message>(&self, reader: &mut Reader<'_>) -> Result<R, WireError> {
        check_version::<R>(self.version)?;
        R::decode(reader)
    }
}

/// Encodes a request as a frame.
pub fn encode_request<R: Message>(
    correlation_id: i32,
    client_id: &str,
    version: i16,
    request: &R,
) -> Result<EncodedFrame, WireError> {
    check_version::<R>(version)?;
    let mut writer = Writer::new(Layout::classic(0));
    let start = writer.begin_frame();
    R::KEY.encode(&mut writer);
    version.encode(&mut writer);
    correlation_id.encode(&mut writer);
    writer.write_text(Some(client_id));
    writer.set_layout(Layout::of(R::KEY, version));
    writer.write_tags(&[]);
    request.encode(&mut writer);
    writer.end_frame(start);
    EncodedFrame::of(writer)
}

/// Encodes a response as a frame. An unsupported version is an error.
pub fn encode_response<R: Message>(
    correlation_id: i32,
    version: i16,
    response: &R::Response,
) -> Result<EncodedFrame, WireError> {
    let mut writer = Writer::new(Layout::classic(0));
    write_response::<R>(&mut writer, correlation_id, version, |body| response.encode(body))?;
    EncodedFrame::of(writer)
}

/// Appends a response frame to those already written; `body` writes the part after the header.
pub(super) fn write_response<R: Message>(
    writer: &mut Writer,
    correlation_id: i32,
    version: i16,
    body: impl FnOnce(&mut Writer),
) -> Result<(), WireError> {
    check_version::<R>(version)?;
    let start = writer.begin_frame();
    correlation_id.encode(writer);
    writer.set_layout(response_header_layout(R::KEY, version));
    writer.write_tags(&[]);
    writer.set_layout(Layout::of(R::KEY, version));
    body(writer);
    writer.end_frame(start);
    Ok(())
}

/// Decodes the correlation id and body of a response. Byte fields are slices of `frame`.
pub fn decode_response<R: Message>(
    frame: &Bytes,
    version: i16,
) -> Result<(i32, R::Response), WireError> {
    check_version::<R>(version)?;
    let mut reader = Reader::sharing(frame, response_header_layout(R::KEY, version));
    let correlation_id = i32::decode(&mut reader)?;
    reader.read_tags(|_, _| Ok(false))?;
    reader.set_layout(Layout::of(R::KEY, version));
    Ok((correlation_id, R::Response::decode(&mut reader)?))
}

fn check_version<R: Message>(version: i16) -> Result<(), WireError> {
    if R::VERSIONS.contains(&version) {
        Ok(())
    } else {
        Err(WireError::UnsupportedVersion { message: R::KEY.name(), version })
    }
}

fn response_header_layout(api: ApiKey, version: i16) -> Layout {
    if api == ApiKey::ApiVersions { Layout::classic(version) } else { Layout::of(api, version) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{ApiVersionsRequest, HeartbeatRequest, HeartbeatResponse};

    #[test]
    fn a_header_is_encoded_as_in_kafka() {
        let request = HeartbeatRequest::default();
        let classic = encode_request(0x0102_0304, "me", 3, &request).unwrap().into_bytes();
        let header = [0, 0, 0, 22, 0, 12, 0, 3, 1, 2, 3, 4, 0, 2, b'm', b'e'];
        assert_eq!(classic.get(..16), Some(&header[..]));
        let flexible = encode_request(0x0102_0304, "me", 4, &request).unwrap().into_bytes();
        let header = [0, 0, 0, 21, 0, 12, 0, 4, 1, 2, 3, 4, 0, 2, b'm', b'e', 0];
        assert_eq!(flexible.get(..17), Some(&header[..]));

        let response = HeartbeatResponse::default();
        let classic = encode_response::<HeartbeatRequest>(5, 3, &response).unwrap();
        assert_eq!(classic.into_bytes().get(..8), Some(&[0, 0, 0, 10, 0, 0, 0, 5][..]));
        let flexible = encode_response::<HeartbeatRequest>(5, 4, &response).unwrap();
        assert_eq!(flexible.into_bytes().get(..9), Some(&[0, 0, 0, 12, 0, 0, 0, 5, 0][..]));
    }

    #[test]
    fn a_header_is_read_whatever_its_version_and_its_unknown_tags() {
        let frame = [0, 18, 0, 99, 0, 0, 0, 7, 0xff, 0xff, 1, 5, 2, 8, 8, 42];
        let (header, mut reader) = RequestHeader::decode(&frame).unwrap();
        let expected = RequestHeader {
            api_key: ApiKey::ApiVersions,
            version: 99,
            correlation_id: 7,
            client_id: None,
        };
        assert_eq!(header, expected);
        assert_eq!(reader.remaining(), 1);
        let body = header.decode_body::<ApiVersionsRequest>(&mut reader);
        let refused = WireError::UnsupportedVersion { message: "ApiVersions", version: 99 };
        assert_eq!(body, Err(refused));
    }

    #[test]
    fn a_version_without_a_layout_is_neither_written_nor_read() {
        let refused = WireError::UnsupportedVersion { message: "Heartbeat", version: 5 };
        let request = encode_request(1, "me", 5, &HeartbeatRequest::default());
        assert_eq!(request.unwrap_err(), refused);
        let response = encode_response::<HeartbeatRequest>(1, 5, &HeartbeatResponse::default());
        assert_eq!(response.unwrap_err(), refused);
        let frame = Bytes::from_static(&[0; 40]);
        assert_eq!(decode_response::<HeartbeatRequest>(&frame, 5), Err(refused));
    }

    #[test]
    fn any_key_and_version_is_named_or_refused() {
        for key in i16::MIN..=i16::MAX {
            for version in [i16::MIN, -1, 0, 3, 12, i16::MAX] {
                let mut frame = [key.to_be_bytes(), version.to_be_bytes()].concat();
                frame.extend([0, 0, 0, 7, 0xff, 0xff, 0]);
                match RequestHeader::decode(&frame) {
                    Ok((header, _)) => assert_eq!(header.api_key.number(), key),
                    Err(error) => assert_eq!(error, WireError::UnknownApi(key)),
                }
            }
        }
    }

    #[test]
    fn a_header_cut_short_is_refused() {
        let request = HeartbeatRequest::default();
        let frame = encode_request(1, "me", 4, &request).unwrap().into_bytes().slice(4..);
        for length in 0..13 {
            assert!(RequestHeader::decode(frame.get(..length).unwrap()).is_err(), "{length}");
        }
        assert!(RequestHeader::decode(frame.get(..13).unwrap()).is_ok());
    }
}
