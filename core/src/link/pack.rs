//! Text as characters that a link may have: deflated, then base64url.

use super::LinkError;
use crate::scenario::MAX_TEXT;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_zlib_with_limit};

/// Longest fragment, in characters.
pub const MAX_FRAGMENT: usize = 32 * 1024;
/// Longest text that a fragment may hold, in bytes: the largest scenario file, and its head, in
/// which stops take most.
pub const MAX_PLAIN: usize = MAX_TEXT + 16 * 1024;
/// How hard deflate tries, of 10.
const EFFORT: u8 = 9;

/// Packs a text.
pub(super) fn pack(text: &str) -> Result<String, LinkError> {
    if text.len() > MAX_PLAIN {
        return Err(LinkError::TooLarge);
    }
    Ok(URL_SAFE_NO_PAD.encode(compress_to_vec_zlib(text.as_bytes(), EFFORT)))
}

/// Unpacks a text. A small fragment that would unpack to more than [`MAX_PLAIN`] bytes is refused
/// when it gets there.
pub(super) fn unpack(packed: &str) -> Result<String, LinkError> {
    let bytes = URL_SAFE_NO_PAD
        .decode(packed)
        .map_err(|_| LinkError::Damaged("it has characters that no link has, or was cut"))?;
    let plain = decompress_to_vec_zlib_with_limit(&bytes, MAX_PLAIN).map_err(|error| {
        if error.status == TINFLStatus::HasMoreOutput {
            LinkError::TooLarge
        } else {
            LinkError::Damaged("it does not unpack")
        }
    })?;
    String::from_utf8(plain).map_err(|_| LinkError::Damaged("it holds no text"))
}
