import Synchronization

/// A master key that a function of the app returns. The app's host renews it in the background, so no request waits for
/// the function.
package final class RenewedKey: Sendable {
    private let current: Mutex<String?>

    package init(_ key: String) { current = Mutex(key) }

    /// The current key, or nil while the function fails. Without a key, no request has master access.
    package var value: String? {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }
}
