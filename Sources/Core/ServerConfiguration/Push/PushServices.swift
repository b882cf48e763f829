import JSON

/// Credentials and settings for Apple's push service (APNs).
public struct ApplePush: Sendable {
    /// The credentials. Keys and certificates are paths, PEM texts, or the bytes of the file in Base64.
    public enum Identity: Sendable {
        /// A signing key with its id and the id of its team.
        case token(key: String, keyId: String, teamId: String)
        /// A PKCS#12 file that contains a certificate and its key.
        case archive(String, passphrase: String?)
        case certificate(String, key: String, passphrase: String?)
    }

    public var identity: Identity
    /// The app's bundle id, or nil to use that of each installation.
    public var topic: String?
    /// Whether to use the production environment instead of the sandbox.
    public var isProduction: Bool
    public var host: String
    public var port: Int
    /// An additional certificate authority in PEM, given in the same ways as keys, or nil for none.
    public var authority: String?
    /// Whether the service's certificate is verified.
    public var checksCertificate: Bool
    /// The time limit of a request in milliseconds.
    public var timeLimit: Int
}

/// A Firebase project.
public struct FirebasePush: Sendable {
    /// The service account as JSON or as the path of its file.
    public var account: JSONValue
    /// The base URL of the service.
    public var endpoint: String
    /// Whether the message contains a notification with title and alert, for apps without a Parse SDK.
    public var makesNotifications: Bool
    /// Whether the devices are Apple devices.
    public var isForApple: Bool
    /// Whether dry runs call Firebase with `validate_only`.
    public var asksInTrials = false
}

/// The VAPID credentials and settings of web push.
public struct WebPush: Sendable {
    /// The operator's contact, a `mailto:` or `https:` URL.
    public var subject: String
    /// The public key in URL-safe Base64.
    public var publicKey: String
    /// The private key in URL-safe Base64.
    public var privateKey: String
    /// The maximum time in seconds that the service stores an undelivered notification.
    public var timeToLive: Int
    /// The urgency of notifications, or nil for the service's default.
    public var urgency: String?
    /// Allowed endpoint hosts in addition to the known services. `*.` matches any subdomain.
    public var allowedHosts: [String]
}

/// An Expo project.
public struct ExpoPush: Sendable {
    /// The access token, or nil if the project requires none.
    public var accessToken: String?
    /// The base URL of the service.
    public var endpoint: String
}

enum PushServiceReader {
    static func entries(_ value: JSONValue) -> [JSONValue] { value.arrayValue ?? [value] }

    static func apple(_ value: JSONValue, type: String) throws(ConfigurationError) -> Configuration.Push.Service {
        let option = "option push.\(type)"
        guard let entry = value.objectValue else {
            throw ConfigurationError("\(option): APNS Configuration is invalid: it must be an object")
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
                throw ConfigurationError("\(option): APNS Configuration is invalid: token needs key, keyId and teamId")
            }
            return .token(key: key, keyId: keyId, teamId: teamId)
        }
        let passphrase = entry["passphrase"]?.stringValue
        if let archive = text(entry, "pfx") ?? text(entry, "p12") { return .archive(archive, passphrase: passphrase) }
        guard let certificate = text(entry, "cert"), let key = text(entry, "key") else {
            throw ConfigurationError("\(option): APNS Configuration is invalid: it needs token, pfx, or cert and key")
        }
        return .certificate(certificate, key: key, passphrase: passphrase)
    }

    static func android(_ value: JSONValue) throws(ConfigurationError) -> FirebasePush {
        guard let entry = value.objectValue else {
            throw ConfigurationError("option push.android: FCM Configuration is invalid: it must be an object")
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
                "option push.web: WEB Push Configuration is invalid: it needs vapidDetails with subject (mailto: or "
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

    /// Returns the base URL of a service. Tests override it.
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
    fileprivate var redacted: String {
        guard var entry = objectValue else { return text }
        for key in ["token", "pfx", "p12", "cert", "key", "passphrase"] where entry[Name(key)] != nil {
            entry[Name(key)] = "…"
        }
        return JSONValue.object(entry).text
    }
}
