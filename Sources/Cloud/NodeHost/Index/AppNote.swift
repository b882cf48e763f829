/// One line about an app's own `index.js`: an option or a call, and what becomes of it.
package struct AppNote: Sendable {
    package enum Outcome: String, Sendable {
        /// It has its effect.
        case taken
        /// It has its effect in another way.
        case changed
        /// It has no effect.
        case left
        /// The owner has to change it: the server does not start.
        case decide
    }

    package let subject: String
    package let outcome: Outcome
    let details: String
    /// The file and line, or an empty text if unknown.
    let place: String

    /// The note as a line without its outcome.
    package var text: String { "\(subject): \(details)" + (place.isEmpty ? "" : " (\(place))") }

    /// The note as a line of a report.
    package var line: String {
        let padded = [(subject, 28), (outcome.rawValue, 9)].map { text, width in
            text + String(repeating: " ", count: max(1, width - text.count))
        }
        return padded.joined() + details + (place.isEmpty ? "" : "  (\(place))")
    }
}
