//! The native module of the Python package, `streamlog._core`: one file per class, no logic.
//!
//! Every call that waits releases the interpreter. What Python sees is said in `_core.pyi`, and a
//! test proves that the stub and this module agree.

mod module;
