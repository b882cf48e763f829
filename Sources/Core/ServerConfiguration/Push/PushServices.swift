import JSON

/// An app, or several, at Apple's push service.
public struct ApplePush: Sendable {
    /// By what the server says who it is. Keys are paths, PEM texts or these in Base64.
    public enum Identity: Sendable {
        /// A signing key: its text, its id, and the team that it belongs to.
        case token(key: String, keyId: String, teamId: String)
        /// A certificate with its key in one PKCS#12 file.
        case archive(String, passphrase: String?)
        /// A certificate, and its key.
        case certificate(String, key: String, passphrase: String?)
    }

    /// By what the server says who it is.
    public var identity: Identity
    /// The bundle id of the app; nil for whichever app the installation names.
    public var topic: String?
    /// Whether it is the service for apps from the store.
    public var isProduction: Bool
    /// The host.
    public var host: String
    /// The port.
    public var port: Int
    /// The file of a further authority, PEM; nil for none.
    public var authority: String?
    /// Whether the certificate of the service is checked.
    public var checksCertificate: Bool
    /// How long an answer may take, in milliseconds.
    public var timeLimit: Int
}

/// A project at Firebase.
public struct FirebasePush: Sendable {
    /// The service account as JSON, or a path of it.
    public var account: JSONValue
    /// The address of the service.
    public var endpoint: String
    /// Whether a notification is made of title and alert, for apps that do not use a Parse SDK.
    public var makesNotifications: Bool
    /// Whether the devices are Apple's.
    public var isForApple: Bool
    /// Whether Firebase is asked in trial runs what it would do.
    public var asksInTrials = false
}

/// A sender of web push.
public struct WebPush: Sendable {
    /// Who is to be written to about problems: `mailto:` or `https:`.
    public var subject: String
    /// The public key, in Base64 for URLs.
    public var publicKey: String
    /// The private key, in Base64 for URLs.
    public var privateKey: String
    /// How long the service keeps a notification, in seconds.
    public var timeToLive: Int
    /// How urgent notifications are; nil for the service's default.
    public var urgency: String?
    /// Hosts that tokens may name besides the known services; `*.` stands for any name before the rest.
    public var allowedHosts: [String]
}

/// A project at Expo.
public struct ExpoPush: Sendable {
    /// The token that says who sends; nil for none.
    public var accessToken: String?
    /// The address of the service.
    public var endpoint: String
}

/// Reads the services as their users have written them.
enum PushServiceReader {
    static func entries(_ value: JSONValue) -> [JSONValue] { value.arrayValue ?? [value] }

    static func apple(_ value: JSONValue, type: String) throws(ConfigurationError) -> Configuration.Push.Service {
        let option = "option push.\(type)"
        guard let entry = value.objectValue else {
            throw ConfigurationError("\(option): APNS Configuration is invalid")
        }
        if let account = entry["firebaseServiceAccount"], !account.isNull {
            return .firebase(
                FirebasePush(
                    account: account, endpoint: try endpoint(entry, firebase, "push.\(type)"),
                    makesNotifications: false, isForApple: true))
        }
        if entry["proxy"]?.isNull == false {
            throw ConfigurationError("\(option).proxy is not supported. Remove it: Roost connects to Apple directly")
        }
        let isProduction = entry["production"]?.boolValue ?? false
        let topic = text(entry, "topic") ?? text(entry, "bundleId")
        let identity = try identity(entry, option)
        if topic == nil, case .token = identity {
            throw ConfigurationError("\(option): topic is missing for \(value.redacted)")
        }
        return .apple(
            ApplePush(
                identity: identity, topic: topic, isProduction: isProduction,
                host: text(entry, "address") ?? (isProduction ? "api.push.apple.com" : "api.sandbox.push.apple.com"),
                port: try port(entry, option), authority: text(entry, "ca"),
                checksCertificate: entry["rejectUnauthorized"]?.boolValue ?? true,
                timeLimit: Int(min(max(entry["requestTimeout"]?.numberValue ?? 5000, 1), 600_000))))
    }

    private static func identity(_ entry: JSONObject, _ option: String) throws(ConfigurationError)
        -> ApplePush.Identity
    {
        if let token = entry["token"]?.objectValue {
            guard let key = text(token, "key"), let keyId = text(token, "keyId"), let teamId = text(token, "teamId")
            else {
                throw ConfigurationError("\(option): APNS Configuration is invalid: token takes key, keyId and teamId")
            }
            return .token(key: key, keyId: keyId, teamId: teamId)
        }
        let passphrase = entry["passphrase"]?.stringValue
        if let archive = text(entry, "pfx") ?? text(entry, "p12") { return .archive(archive, passphrase: passphrase) }
        guard let certificate = text(entry, "cert"), let key = text(entry, "key") else {
            throw ConfigurationError("\(option): APNS Configuration is invalid: it takes token, pfx, or cert and key")
        }
        return .certificate(certificate, key: key, passphrase: passphrase)
    }

    static func android(_ value: JSONValue) throws(ConfigurationError) -> FirebasePush {
        guard let entry = value.objectValue else {
            throw ConfigurationError("option push.android: FCM Configuration is invalid")
        }
        guard let account = entry["firebaseServiceAccount"], account.objectValue != nil || account.stringValue != nil
        else {
            let hint = entry["apiKey"] == nil ? "" : "; senderId and apiKey are for GCM, which Google shut down in 2024"
            throw ConfigurationError(
                "option push.android: Firebase service account is required for Android/FCM push notifications\(hint)")
        }
        return FirebasePush(
            account: account, endpoint: try endpoint(entry, firebase, "push.android"),
            makesNotifications: entry["notificationFromAlert"]?.boolValue ?? false, isForApple: false)
    }

    static func web(_ value: JSONValue) throws(ConfigurationError) -> WebPush {
        guard let entry = value.objectValue, let details = entry["vapidDetails"]?.objectValue,
            let subject = text(details, "subject"), let publicKey = text(details, "publicKey"),
            let privateKey = text(details, "privateKey"), subject.hasPrefix("mailto:") || subject.hasPrefix("https:")
        else {
            throw ConfigurationError(
                "option push.web: WEB Push Configuration is invalid: it takes vapidDetails with subject (mailto: or "
                    + "https:), publicKey and privateKey")
        }
        if entry["proxy"]?.isNull == false {
            throw ConfigurationError("option push.web.proxy is not supported. Remove it")
        }
        return WebPush(
            subject: subject, publicKey: publicKey, privateKey: privateKey,
            timeToLive: Int(min(max(entry["TTL"]?.numberValue ?? 2_419_200, 0), 2_419_200)),
            urgency: text(entry, "urgency"), allowedHosts: entry["allowHosts"]?.names.map(\.text) ?? [])
    }

    /// The address of a service, which deployments change to test.
    static func endpoint(_ entry: JSONObject, _ fallback: String, _ option: String) throws(ConfigurationError)
        -> String
    {
        guard var address = text(entry, "endpoint") else { return fallback }
        guard address.hasPrefix("https://") || address.hasPrefix("http://") else {
            throw ConfigurationError("option \(option).endpoint must begin with https:// or http://")
        }
        while address.hasSuffix("/") { address.removeLast() }
        return address
    }

    private static let firebase = "https://fcm.googleapis.com"

    private static func text(_ entry: JSONObject, _ key: Name) -> String? {
        entry[key]?.stringValue.flatMap { $0.isEmpty ? nil : $0 }
    }

    private static func port(_ entry: JSONObject, _ option: String) throws(ConfigurationError) -> Int {
        guard let value = entry["port"], !value.isNull else { return 443 }
        guard let number = value.numberValue ?? value.stringValue.flatMap({ Double($0) }),
            let port = Int(exactly: number), (1...65_535).contains(port)
        else { throw .invalid("\(option).port", "between 1 and 65535") }
        return port
    }
}

extension JSONValue {
    /// What an entry says besides its keys, for a message to the operator.
    fileprivate var redacted: String {
        guard var entry = objectValue else { return text }
        for key in ["token", "pfx", "p12", "cert", "key", "passphrase"] where entry[Name(key)] != nil {
            entry[Name(key)] = "…"
        }
        return JSONValue.object(entry).text
    }
}
