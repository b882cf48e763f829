import Encoding
public import ServerConfiguration

/// The keys of the application, and from where each may be used.
public struct AccessRules: Sendable {
    /// The id of the application that this server serves.
    public var applicationID: String
    /// The key that may do everything.
    public var masterKey: String
    /// The key that may see everything; nil when there is none.
    public var readOnlyMasterKey: String?
    /// The key that may write internal fields; nil when there is none.
    public var maintenanceKey: String?
    /// The keys of client applications. When one of them is set, a client must bring one that matches.
    public var clientKey: String?
    public var javascriptKey: String?
    public var dotNetKey: String?
    public var restAPIKey: String?
    /// Where the master key is taken from.
    public var masterKeyAddresses: AddressList
    /// Where the read-only master key is taken from.
    public var readOnlyMasterKeyAddresses: AddressList
    /// Where the maintenance key is taken from.
    public var maintenanceKeyAddresses: AddressList

    /// Rules for an application with a master key. The master key and the maintenance key are taken from this machine
    /// only, the read-only master key from everywhere; everything else is off until it is set.
    public init(applicationID: String, masterKey: String) throws(AddressList.InvalidEntry) {
        self.applicationID = applicationID
        self.masterKey = masterKey
        masterKeyAddresses = try AddressList(["127.0.0.1", "::1"])
        readOnlyMasterKeyAddresses = try AddressList(["0.0.0.0/0", "::0"])
        maintenanceKeyAddresses = try AddressList(["127.0.0.1", "::1"])
    }

    /// Whether this is the application that the server serves.
    func serves(_ applicationID: String?) -> Bool {
        self.applicationID.hasSameBytes(as: applicationID)
    }

    /// Whether no client key is demanded, or one of those that are was brought.
    fileprivate func admitsClient(_ credentials: Credentials) -> Bool {
        if clientKey == nil, javascriptKey == nil, dotNetKey == nil, restAPIKey == nil { return true }
        return Access.matches(credentials.clientKey, clientKey)
            || Access.matches(credentials.javascriptKey, javascriptKey)
            || Access.matches(credentials.dotNetKey, dotNetKey)
            || Access.matches(credentials.restAPIKey, restAPIKey)
    }
}

extension Access {
    /// Decides what the keys of a request are worth. Keys are compared in a time that tells nothing about them.
    ///
    /// - Parameters:
    ///   - credentials: The keys that the request brings.
    ///   - address: The client's IP address.
    ///   - rules: The keys that are right.
    /// - Returns: What the caller may be.
    /// - Throws: ``HTTPFault/unauthorized`` when the application is not this one, when a right key comes from a wrong
    ///   address, or when client keys are demanded and none is right.
    public static func decide(
        _ credentials: Credentials, address: String, rules: AccessRules
    ) throws(HTTPFault) -> Access {
        guard rules.serves(credentials.applicationID) else { throw .unauthorized }
        if matches(credentials.maintenanceKey, rules.maintenanceKey), rules.maintenanceKeyAddresses.contains(address) {
            return .maintenance
        }
        if matches(credentials.masterKey, rules.masterKey) {
            guard rules.masterKeyAddresses.contains(address) else { throw .unauthorized }
            return .master
        }
        if matches(credentials.masterKey, rules.readOnlyMasterKey) {
            guard rules.readOnlyMasterKeyAddresses.contains(address) else { throw .unauthorized }
            return .readOnlyMaster
        }
        guard rules.admitsClient(credentials) else { throw .unauthorized }
        return .client
    }

    /// Whether a key is the right one. An empty key never is.
    static func matches(_ given: String?, _ right: String?) -> Bool {
        guard let given, let right else { return false }
        return ConstantTime.areEqual(given, right)
    }
}
