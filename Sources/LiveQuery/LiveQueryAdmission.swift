import Encoding
import JSON
import ServerConfiguration

/// Who may connect, and as what.
struct LiveQueryAdmission: Sendable {
    private let appId: String
    private let keyPairs: [(name: Name, key: String)]
    private let masterKeyAddresses: AddressList

    init(_ configuration: Configuration) throws(AddressList.InvalidEntry) {
        appId = configuration.appId
        keyPairs = configuration.liveQuery.keyPairs
        masterKeyAddresses = try AddressList(configuration.masterKeyIps)
    }

    /// Looks at the keys of a client. They are compared in constant time.
    ///
    /// - Parameters:
    ///   - message: What the client says when it connects.
    ///   - address: Its IP address.
    /// - Returns: Whether it has the rights of the master key: where that is among the keys of live queries, and is
    ///   taken from the address.
    /// - Throws: ``LiveQueryError`` 4.
    func isMaster(_ message: JSONObject, address: String) throws(LiveQueryError) -> Bool {
        let refusal = LiveQueryError(LiveQueryError.wrongKey, "Key in request is not valid", reconnect: false)
        guard appId.hasSameBytes(as: message["applicationId"]?.stringValue) else { throw refusal }
        var admits = keyPairs.isEmpty
        var isMaster = false
        for (name, key) in keyPairs {
            guard let given = message[name]?.stringValue, ConstantTime.areEqual(given, key) else { continue }
            if name == "masterKey" {
                guard masterKeyAddresses.contains(address) else { continue }
                isMaster = true
            }
            admits = true
        }
        guard admits else { throw refusal }
        return isMaster
    }
}
