import JSON
import ParseStorage
import Testing

@Suite("Parameters of a statement that is being written")
struct SQLBuilderTests {
    @Test("The principals of a caller are one of them, however often they are asked for")
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
