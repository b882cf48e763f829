import Templates
import Testing

@Suite("Mustache templates")
struct TextTemplateTests {
    private static let values: [String: any Sendable] = [
        "a": "A<b>&amp;", "yes": true, "no": false, "empty": [] as [any Sendable],
        "list": ["x", "y"] as [any Sendable],
        "user": ["name": "N", "address": ["city": "C"] as [String: any Sendable]] as [String: any Sendable],
        "songs": [["title": "1"] as [String: any Sendable], ["title": "2"] as [String: any Sendable]]
            as [any Sendable],
    ]

    @Test(
        "Renders templates like Mustache",
        arguments: [
            ("{{a}} {{{a}}} {{&a}} {{ a }}|{{missing}}|", "A&lt;b&gt;&amp; A<b>&amp; A<b>&amp; A&lt;b&gt;&amp;||"),
            ("{{user.name}} {{user.address.city}} {{user.missing.city}}|", "N C |"),
            ("{{#user}}{{name}}{{a}}{{.a}}{{address.city}}{{/user}}", "NA&lt;b&gt;&amp;C"),
            ("{{#list}}{{.}},{{/list}}{{#songs}}[{{title}}]{{/songs}}", "x,y,[1][2]"),
            ("{{#yes}}1{{/yes}}{{#no}}2{{/no}}{{#empty}}3{{/empty}}{{#missing}}4{{/missing}}", "1"),
            ("{{^yes}}1{{/yes}}{{^no}}2{{/no}}{{^empty}}3{{/empty}}{{^missing}}4{{/missing}}{{^a}}5{{/a}}", "234"),
            ("a{{! a comment\nover lines }}b{{> part}}c", "abc"),
            ("{{=<% %>=}}<%a%>{{a}}<%={{ }}=%>{{user.name}}", "A&lt;b&gt;&amp;{{a}}N"),
            ("x\n  {{#yes}}\n  y\n  {{/yes}}\nz", "x\n  y\nz"), ("x\r\n{{! c }}\r\nz", "x\r\nz"),
            ("{ {a} } }}", "{ {a} } }}"),
            ("{{$block}}default{{/block}}", "default"),
        ])
    func shown(text: String, expected: String) throws {
        #expect(try TextTemplate(text, .html).render(Self.values) == expected)
    }

    private static func nested(_ levels: Int, _ tag: String = "#") -> String {
        String(repeating: "{{\(tag)yes}}", count: levels) + "{{a}}" + String(repeating: "{{/yes}}", count: levels)
    }

    @Test("Sections nest up to 50 levels deep", arguments: ["#", "^", "$", "<"])
    func nesting(tag: String) throws {
        #expect(try TextTemplate(Self.nested(50), .plain).render(Self.values) == "A<b>&amp;")
        _ = try TextTemplate(Self.nested(50, tag) + Self.nested(50, tag), .plain)
        #expect(throws: TextTemplate.Malformed.self) { try TextTemplate(Self.nested(51, tag), .plain) }
    }

    @Test("Plain text is not escaped")
    func plain() throws {
        #expect(try TextTemplate("{{a}}", .plain).render(Self.values) == "A<b>&amp;")
    }

    @Test(
        "Rejects malformed templates",
        arguments: [
            "{{#a}}", "{{/a}}", "{{#a}}{{/b}}", "{{#a}}{{#b}}{{/a}}{{/b}}", "{{a", "{{a b}}", "{{! a", "{{{a}}",
            "{{=<%=}}",
            "{{uppercased(a)}}",
        ])
    func malformed(text: String) {
        #expect(throws: TextTemplate.Malformed.self) { try TextTemplate(text, .html) }
    }
}
