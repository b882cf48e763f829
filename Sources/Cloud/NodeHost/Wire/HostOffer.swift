import CloudCode
import JSON
import ParseModel

/// The registrations and adapters of an app's file, and the versions of Node and the SDK.
package struct HostOffer: Sendable {
    private(set) var registrations: [CloudRegistration] = []
    /// Registrations that can't be used, as log messages.
    private(set) var problems: [String] = []
    private(set) var adapters: [Name: NodeAuthProvider.Description] = [:]
    let node: String
    let sdk: String

    /// Reads a message from a process.
    init(_ message: JSONObject) {
        node = message["node"]?.stringValue ?? ""
        sdk = message["sdk"]?.stringValue ?? ""
        for entry in message["auth"]?.arrayValue ?? [] {
            if let name = entry["provider"]?.nameValue { adapters[name] = NodeAuthProvider.Description(entry) }
        }
        for entry in message["functions"]?.arrayValue ?? [] {
            if let name = entry["name"]?.nameValue { add(.function(name), entry) }
        }
        for entry in message["jobs"]?.arrayValue ?? [] {
            if let name = entry["name"]?.nameValue { add(.job(name), entry) }
        }
        for entry in message["triggers"]?.arrayValue ?? [] {
            guard let name = entry["class"]?.nameValue, let text = entry["event"]?.stringValue else { continue }
            guard let event = CloudEvent(rawValue: text) else {
                problems.append("\(text) of \(name) is not called")
                continue
            }
            add(.trigger(event, name), entry)
        }
    }

    private mutating func add(_ target: CloudTarget, _ entry: JSONValue) {
        do throws(ParseError) {
            var validator: CloudValidator?
            if let json = entry["validator"]?.objectValue { validator = try CloudValidator(json: json) }
            registrations.append(CloudRegistration(target, validator: validator))
        } catch {
            problems.append("\(target): \(error.message)")
        }
    }
}
