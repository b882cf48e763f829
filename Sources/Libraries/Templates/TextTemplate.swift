import Encoding

/// A Mustache template.
///
/// For HTML and JSON, values must be escaped beforehand, so that templates of parse-server 7, which insert values
/// unescaped (`{{{token}}}`), are safe without changes.
public struct TextTemplate: Sendable {
    /// The format of a template's output.
    public enum Kind: Sendable {
        /// HTML. `{{x}}` escapes characters that aren't escaped yet.
        case html
        /// Any other format. Values are inserted unchanged.
        case plain
    }

    private let parts: [TemplatePart]
    private let kind: Kind

    /// Parses a template.
    ///
    /// - Throws: `Malformed` if the syntax is invalid.
    public init(_ text: String, _ kind: Kind) throws(Malformed) {
        var parser = TemplateParser(text)
        parts = try parser.parse()
        self.kind = kind
    }

    /// Fills the placeholders. Unknown names render as nothing.
    ///
    /// - Parameter values: Strings, Booleans, lists (`[any Sendable]`) and objects (`[String: any Sendable]`).
    public func render(_ values: [String: any Sendable]) -> String {
        var text = ""
        render(parts, [values], into: &text)
        return text
    }

    private func render(_ parts: [TemplatePart], _ stack: [any Sendable], into text: inout String) {
        for part in parts {
            switch part {
            case .text(let part): text += part
            case .variable(let name, let isEscaped):
                guard let value = Self.value(name, stack) else { continue }
                let described = String(describing: value)
                text += isEscaped && kind == .html ? HTMLEscaping.escapeRemaining(described) : described
            case .section(let name, let parts, let isInverted):
                switch Self.value(name, stack) {
                case let list as [any Sendable] where !isInverted:
                    for element in list { render(parts, stack + [element], into: &text) }
                case let list as [any Sendable]: if list.isEmpty { render(parts, stack + [list], into: &text) }
                case let flag as Bool: if flag != isInverted { render(parts, stack, into: &text) }
                case let value?: if !isInverted { render(parts, stack + [value], into: &text) }
                case nil: if isInverted { render(parts, stack, into: &text) }
                }
            case .block(let parts): render(parts, stack, into: &text)
            }
        }
    }

    private static func value(_ name: TemplateName, _ stack: [any Sendable]) -> (any Sendable)? {
        guard let first = name.keys.first else { return stack.last }
        func member(_ key: String, _ value: any Sendable) -> (any Sendable)? {
            (value as? [String: any Sendable])?[key]
        }
        let outermost = name.isLocal ? stack.count - 1 : 0
        guard let found = stack[outermost...].reversed().lazy.compactMap({ member(first, $0) }).first else {
            return nil
        }
        return name.keys.dropFirst().reduce(found) { value, key in value.flatMap { member(key, $0) } }
    }

    /// The error of parsing a template with invalid syntax.
    public struct Malformed: Error {
        public init() {}
    }
}
