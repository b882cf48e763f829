import HTTP
import Testing

@Suite struct CookiesTests {
    @Test(
        "Finds all cookies of a name, compared by bytes",
        arguments: [
            ("a=1; b=2;a=3 ;\ta=4", ["1", "3", "4"]), ("ab=1; A=2; =3; a; a", []), ("a==; a=", ["=", ""]),
            ("e\u{301}=1; \u{E9}=2; a\u{301}=3", []),
        ])
    func names(field: String, values: [String]) {
        #expect(Cookies.values(of: "a", in: field) == values)
    }
}
