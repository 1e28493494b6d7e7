"""The reader of Rust that the rules stand on sees code, and only code."""

from tidy.source import rust


def test_comments_strings_and_characters_are_no_code() -> None:
    source = """
// fn a() {
/* fn b() { /* nested { */ { */
let s = "fn c() { \\" {"; let r = r#"fn d() { " {"#; let b = b"{"; let e = "\\\\";
let q = '"'; let brace = '{'; let quote = '\\''; let u = '\\u{7b}'; let byte = b'{';
fn e<'a>(x: &'a str) -> &'a str { x }
"""
    masked = rust.mask(source)
    assert [f.name for f in rust.functions(masked)] == ["e"]
    assert masked.count("{") == masked.count("}") == 1
    assert len(masked) == len(source)
    assert masked.count("\n") == source.count("\n")


def test_a_function_has_its_lines_and_its_parameters_without_self() -> None:
    source = """
impl<T> S<T> {
    pub fn one<F: Fn(u8, u8) -> u8>(&'a mut self, f: F, map: Map<K, V>, t: (u8, u8)) -> [u8; 4]
    where
        F: Send,
    {
        f(1, 2)
    }
    fn declared(&self);
    fn none() {}
    fn lines(
        self,
        a: fn(u8, u8) -> u8,
        b: u8,
    ) {
    }
}
"""
    found = [(f.name, f.line, f.lines, f.parameters) for f in rust.functions(rust.mask(source))]
    assert found == [("one", 3, 6, 3), ("none", 10, 1, 0), ("lines", 11, 6, 2)]


def test_keywords_of_python_are_options_and_no_parameters() -> None:
    source = """
impl S {
    #[pyo3(signature = (topic, value, *, key=None, headers=None))]
    #[expect(clippy::too_many_arguments, reason = "(")]
    fn send(&self, topic: T, value: V, key: Option<&K<'_>>, headers: Option<H>) {}
    #[pyo3(signature = (a, b=None))]
    fn plain(&self, a: u8, b: Option<u8>) {}
    fn after(a: u8, b: u8) {}
}
"""
    found = [(f.name, f.parameters) for f in rust.functions(rust.mask(source))]
    assert found == [("send", 2), ("plain", 2), ("after", 2)]


def test_an_enum_has_its_cases_and_attributes() -> None:
    source = """
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LogError {
    /// One, with a comma.
    #[error("{a}, {b}")]
    One { a: u8, b: Map<u8, u8> },
    Two(u8, u8),
    Three,
}
enum Never {}
"""
    found = list(rust.enums(rust.mask(source)))
    assert [(e.name, e.line, e.cases) for e in found] == [("LogError", 4, 3), ("Never", 11, 0)]
    assert "Error" in found[0].attributes


def test_inline_test_modules_are_taken_out_whole() -> None:
    source = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() { {} }\n}\nfn c() {}\n"
    assert rust.without_test_modules(rust.mask(source)) == "fn a() {}\n\nfn c() {}\n"
