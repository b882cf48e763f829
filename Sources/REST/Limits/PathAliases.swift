import Encoding
import JSON
import Rules

/// The other paths of what has two: a limit on one holds for both.
struct PathAliases {
    /// The folder of the pages that links in mails lead to, in components.
    private let pages: [String]

    /// - Parameter pages: The folder of the pages, without slashes at its ends.
    init(pages: String) {
        self.pages = pages.split(separator: "/").map(String.init)
    }

    /// The other path of what has two; nil for what has one.
    func alias(of path: [String]) -> [String]? {
        guard let first = path.first else { return nil }
        if isResendForm(path) { return [Self.resend.text] }
        let name = Name(first.asciiLowercased)
        guard let alias = Self.firstName(of: name, path) else { return nil }
        guard name != ClassPath.classes, let className = ClassPath.className(ofPath: name) else {
            return [alias.text] + path.dropFirst(2)
        }
        return [ClassPath.classes.text, className.text] + path.dropFirst()
    }

    /// The first component of the other path, in small letters; nil for what has one path.
    func firstName(of path: [String]) -> Name? {
        guard let first = path.first else { return nil }
        if isResendForm(path) { return Name(Self.resend.text.asciiLowercased) }
        return Self.firstName(of: Name(first.asciiLowercased), path)
    }

    /// Whether a path is that of the form that sends a link once more, as a route for programs does.
    private func isResendForm(_ path: [String]) -> Bool {
        path.count == pages.count + 2 && path.last?.hasSameBytes(as: "resend_verification_email") == true
            && zip(path, pages).allSatisfy { $0.hasSameBytes(as: $1) }
    }

    /// - Parameter name: The first component, in small letters.
    private static func firstName(of name: Name, _ path: [String]) -> Name? {
        guard name == ClassPath.classes else { return ClassPath.className(ofPath: name).map { _ in ClassPath.classes } }
        guard path.count > 1 else { return nil }
        return ClassPath.own(of: Name(path[1]))
    }

    private static let resend: Name = "verificationEmailRequest"
}
