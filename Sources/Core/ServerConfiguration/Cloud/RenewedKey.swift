import Synchronization

/// The master key of an app whose function gives it again and again. The host of the app renews it in the background, so
/// that no request waits for the function.
package final class RenewedKey: Sendable {
    private let current: Mutex<String?>

    package init(_ key: String) { current = Mutex(key) }

    /// The key, or nil while the function fails: then no request has it.
    package var value: String? {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }
}
