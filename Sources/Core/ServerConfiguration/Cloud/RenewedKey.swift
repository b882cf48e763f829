import Synchronization

/// A master key that a function of the app returns. It is renewed in the background, so no request waits for it.
package final class RenewedKey: Sendable {
    private let current: Mutex<String?>

    package init(_ key: String) { current = Mutex(key) }

    /// The current key, or nil while the function fails. The server then rejects the master key, but not `adminKeys`.
    package var value: String? {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }
}
