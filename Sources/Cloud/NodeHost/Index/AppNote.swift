/// A note about an option or call in an app's own `index.js`, and how Roost handles it.
package struct AppNote: Sendable {
    package enum Outcome: String, Sendable {
        /// Takes effect as usual.
        case applied = "taken"
        /// Takes effect in a different way.
        case changed
        /// Has no effect.
        case left
        /// The owner must change it before the server can start.
        case decide
    }

    package let subject: String
    package let outcome: Outcome
    let details: String
    /// The file and line, or empty if unknown.
    let place: String

    /// The note without its outcome.
    package var text: String { "\(subject): \(details)" + (place.isEmpty ? "" : " (\(place))") }

    /// The note as a line of a report.
    package var line: String {
        let padded = [(subject, 28), (outcome.rawValue, 9)].map { text, width in
            text + String(repeating: " ", count: max(1, width - text.count))
        }
        return padded.joined() + details + (place.isEmpty ? "" : "  (\(place))")
    }
}
