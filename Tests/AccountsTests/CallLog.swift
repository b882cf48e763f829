import Foundation
import JSON
import Operations
import Synchronization

/// Records calls of user triggers.
final class CallLog: TriggerSet {
    private let calls = Mutex<[String]>([])

    /// The events with the resulting `emailVerified`.
    var seen: [String] { calls.withLock { $0 } }

    func clear() { calls.withLock { $0 = [] } }

    func trigger(for event: TriggerEvent, of className: Name) -> Trigger? {
        guard className == "_User", event == .beforeSave || event == .afterSave else { return nil }
        return { call in
            let value = call.object["emailVerified"]?.text ?? ""
            self.calls.withLock { $0.append("\(event.rawValue) emailVerified \(value)") }
            return TriggerAnswer()
        }
    }
}

enum ParseTime {
    static var now: Double { Date().timeIntervalSince1970.rounded() }
}
