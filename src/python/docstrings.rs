//! Docstrings of the native classes, taken from their stubs by the build script.

/// The docstring of a class, a function, or `Class.method`.
macro_rules! stub {
    ($name:literal) => {
        include_str!(concat!(env!("OUT_DIR"), "/docstrings/", $name))
    };
}

pub(super) use stub;
