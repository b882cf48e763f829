public import JSON
public import Operations
public import Outgoing

/// The identity providers that Roost knows, by the names that the option `auth` and clients call them.
public enum SignInProviders {
    /// The providers for what the option `auth` says.
    ///
    /// - Parameters:
    ///   - auth: The option: names of providers with their options.
    ///   - caller: What the providers ask others with.
    public static func all(_ auth: JSONObject, _ caller: HTTPCaller) -> [Name: any AuthProvider] {
        [:]
    }
}
