import ParseModel

/// What a provider's refusal is to clients.
enum SignInError {
    /// The error of parse-server's adapters: 101 with a text that names the provider.
    static func refused(_ text: String) -> ParseError { ParseError(ParseError.objectNotFound, text) }
}
