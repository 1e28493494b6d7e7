//! Path syntax: `/`, or names that are each preceded by a slash.

use crate::metadata::StoreError;

const LENGTH_MAX: usize = 1024;

/// Accepts `/`, and paths of at most 1024 bytes that begin with a slash and do not end in one. A
/// name in a path must not be empty, `.` or `..`, or contain control characters.
///
/// # Errors
/// `InvalidPath` with the fault.
pub fn validate_path(path: &str) -> Result<(), StoreError> {
    let refuse = |reason| Err(StoreError::InvalidPath { path: path.to_owned(), reason });
    if path == "/" {
        return Ok(());
    }
    let Some(names) = path.strip_prefix('/') else {
        return refuse("it must begin with '/'");
    };
    if path.len() > LENGTH_MAX {
        return refuse("it has more than 1024 bytes");
    }
    if names.split('/').any(|name| matches!(name, "" | "." | "..")) {
        return refuse("a name in it is empty or dots");
    }
    if names.chars().any(char::is_control) {
        return refuse("it holds a control character");
    }
    Ok(())
}

/// The path of the parent; `None` for `/`.
pub(in crate::metadata) fn parent(path: &str) -> Option<&str> {
    match path.rfind('/') {
        _ if path == "/" => None,
        Some(0) => Some("/"),
        Some(end) => Some(&path[..end]),
        None => None,
    }
}

/// The common prefix of the paths of all nodes below `path`.
pub(in crate::metadata) fn children_prefix(path: &str) -> String {
    if path == "/" { "/".to_owned() } else { format!("{path}/") }
}
