import Mustache

/// A text of Mustache's with placeholders that values fill.
///
/// In HTML and in JSON, values are escaped before they come here, so that templates of parse-server 7, which ask for
/// them unescaped (`{{{token}}}`), are safe as they are.
public struct TextTemplate: Sendable {
    /// What a text is part of.
    public enum Kind: Sendable {
        /// HTML: `{{x}}` escapes what is not escaped.
        case html
        /// Something in which values stand as they are given.
        case plain
    }

    private let template: MustacheTemplate

    /// Reads a template.
    ///
    /// - Throws: `Malformed` for one that is none.
    public init(_ text: String, _ kind: Kind) throws(Malformed) {
        let type = kind == .html ? HTMLContent.name : "TEXT"
        do {
            template = try MustacheTemplate(string: "{{% CONTENT_TYPE:\(type)}}" + text)
        } catch {
            throw Malformed()
        }
    }

    /// Fills the placeholders. A name that there is not gives nothing.
    public func render(_ values: [String: any Sendable]) -> String { template.render(values) }

    /// What is no template of Mustache's.
    public struct Malformed: Error {
        /// Makes the error.
        public init() {}
    }
}

/// The content type of HTML, in which what is escaped stays as it is.
private struct HTMLContent: MustacheContentType {
    /// Its name in templates.
    static let name: String = {
        MustacheContentTypes.register(HTMLContent(), named: "ROOST-HTML")
        return "ROOST-HTML"
    }()

    func escapeText(_ text: String) -> String { HTMLEscaping.escapeRemaining(text) }
}
