import JSON
public import Operations
public import Outgoing
public import ServerConfiguration

/// The supported identity providers, by their names in the option `auth`.
public enum SignInProviders {
    /// Returns the providers configured in the option `auth`. Besides the built-in names, any name works with `oauth2`
    /// (token introspection) or `issuer` (OpenID Connect).
    ///
    /// - Parameter caller: The HTTP client that the providers use.
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
        // Digits was Twitter's log-in by phone number. parse-server handles it like Twitter.
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

/// Reads the options of a provider.
enum ProviderOptions {
    /// Returns a string or a list of strings as a list, and an empty list for other values.
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

    /// Requires that an option is a non-empty string or a list of such strings.
    static func require(_ key: Name, of name: Name, in options: JSONObject) throws(ConfigurationError) {
        guard texts(options[key]).isEmpty else { return }
        throw ConfigurationError(
            "option auth.\(name).\(key) is required. Without it, tokens of other apps would be accepted")
    }
}
