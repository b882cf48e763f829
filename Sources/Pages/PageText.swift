import JSON
import Templates

/// The texts of one language, as a file of translations holds them: templates, in lists and objects.
indirect enum PageText: Sendable {
    case template(TextTemplate)
    case list([PageText])
    case object([(String, PageText)])
    case constant(any Sendable)

    init(_ json: JSONValue) throws(TextTemplate.Malformed) {
        switch json {
        case .string(let text): self = .template(try TextTemplate(text, .html))
        case .array(let list):
            var texts: [PageText] = []
            for element in list { texts.append(try PageText(element)) }
            self = .list(texts)
        case .object(let members):
            var texts: [(String, PageText)] = []
            for (name, member) in members where !member.isNull { texts.append((name.text, try PageText(member))) }
            self = .object(texts)
        case .bool(let value): self = .constant(value)
        default: self = .constant(json.text)
        }
    }

    /// The text as HTML.
    func render(_ values: [String: any Sendable]) -> any Sendable {
        switch self {
        case .template(let template): template.render(values)
        case .list(let list): list.map { $0.render(values) }
        case .object(let members): Self.members(members, values)
        case .constant(let value): value
        }
    }

    /// The texts of an object, by their names.
    var members: [(String, PageText)] {
        if case .object(let members) = self { members } else { [] }
    }

    private static func members(_ members: [(String, PageText)], _ values: [String: any Sendable]) -> [String:
        any Sendable]
    {
        Dictionary(members.map { ($0.0, $0.1.render(values)) }) { $1 }
    }
}
