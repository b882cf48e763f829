import JSON
public import Operations
public import Outgoing
public import ServerConfiguration

/// The identity providers that Roost knows, by the names that the option `auth` and clients call them.
public enum SignInProviders {
    /// The providers for what the option `auth` says: the known names, and those whose options say what they are.
    ///
    /// - Parameter caller: What the providers ask others with.
    public static func all(_ configuration: Configuration, _ caller: HTTPCaller) -> [Name: any AuthProvider] {
        let keys = IssuerKeys(caller: caller)
        let hasOldTexts = configuration.preset < 8
        func profile(_ service: ProfileService) -> ProfileProvider {
            ProfileProvider(
                service: service, isInsecureByDefault: configuration.enableInsecureAuthAdapters,
                hasOldTexts: hasOldTexts, caller: caller)
        }
        var all: [Name: any AuthProvider] = [
            "apple": TokenProvider(rules: .apple, keys: keys), "google": TokenProvider(rules: .google, keys: keys),
            "keycloak": TokenProvider(rules: .keycloak, keys: keys),
            "facebook": FacebookProvider(limited: TokenProvider(rules: .facebook, keys: keys), caller: caller),
            "twitter": TwitterProvider(caller: caller), "mfa": SecondFactor(caller: caller),
            "gcenter": GameCenterProvider(
                hasOldTexts: hasOldTexts, certificates: GameCenterCertificates(caller: caller)),
        ]
        // What parse-server called Twitter's log-in by telephone goes the same way there.
        all["digits"] = all["twitter"]
        for (name, service) in ProfileService.all { all[name] = profile(service) }
        if let line = ProfileService.all["line"] {
            all["line"] = LineProvider(signed: TokenProvider(rules: .line, keys: keys), profile: profile(line))
        }
        let openID = OpenIDProvider(keys: keys)
        for (name, options) in configuration.auth {
            guard let options = options.objectValue else { continue }
            if options["oauth2"] == true {
                all[name] = IntrospectionProvider(caller: caller)
            } else if all[name] == nil, options["issuer"] != nil {
                all[name] = openID
            }
        }
        return all.filter { configuration.auth[$0.key] != nil }
    }
}

/// Reading what the option `auth` says of a provider.
enum ProviderOptions {
    /// A text, or a list of texts; empty for what is neither.
    static func texts(_ value: JSONValue?) -> [String] {
        switch value {
        case .string(let text)?: text.isEmpty ? [] : [text]
        case .array(let list)?: list.compactMap(\.stringValue).filter { !$0.isEmpty }
        default: []
        }
    }

    static func text(_ value: JSONValue?) -> String? {
        value?.stringValue.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Refuses a provider without a text, or a list of texts, that it cannot do without.
    static func require(_ key: Name, of name: Name, in options: JSONObject) throws(ConfigurationError) {
        guard texts(options[key]).isEmpty else { return }
        throw ConfigurationError(
            "option auth.\(name).\(key) is required. Without it, tokens of other apps would be accepted")
    }
}
