import JSON
import ParseStorage
import Testing

@Suite("Parameters of a statement under construction")
struct SQLBuilderTests {
    @Test("Binds the same principals only once")
    func principals() {
        var builder = SQLBuilder()
        let principals: [Name] = ["*", "role:Editors", "kim"]
        #expect(builder.bind(principals: principals) == "$1")
        #expect(builder.bind(.bool(true)) == "$2")
        for _ in 0..<100 { #expect(builder.bind(principals: principals) == "$1") }
        #expect(builder.bind(principals: ["*"]) == "$3")
        #expect(builder.parameters.count == 3)
    }
}
