import Foundation

/// Why a command did nothing, in words for the operator who gave it.
package struct CommandFailure: Error, CustomStringConvertible, Equatable {
    /// The words.
    package let description: String

    init(_ description: String) { self.description = description }

    /// What the system says of the last failure.
    static func reason() -> String { String(cString: strerror(errno)) }
}
