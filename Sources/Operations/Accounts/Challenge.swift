import JSON
import ParseModel

/// `/challenge`: questions that login providers put before a log-in. No built-in provider has any.
extension Backend {
    /// The answers of the providers that are asked.
    ///
    /// - Throws: -1 for a request of no form.
    public func challenge(_ body: JSONObject) throws(ParseError) -> JSONObject {
        guard let data = body["challengeData"], data.isTruthy else { throw ParseError(-1, "Nothing to challenge.") }
        guard let challenges = data.objectValue else { throw ParseError(-1, "challengeData should be an object.") }
        let hasName = body["username"]?.isTruthy == true || body["email"]?.isTruthy == true
        if hasName, body["password"]?.isTruthy != true {
            throw ParseError(-1, "You provided username or email, you need to also provide password.")
        }
        if let authData = body["authData"], authData.isTruthy {
            guard let providers = authData.objectValue else { throw ParseError(-1, "authData should be an object.") }
            guard !hasName else {
                throw ParseError(
                    -1, "You cannot provide username/email and authData, only use one identification method.")
            }
            guard providers.filter({ $0.value["id"] != nil }).count <= 1 else {
                throw ParseError(-1, "You cannot provide more than one authData provider with an id.")
            }
        }
        for (provider, value) in challenges where value.objectValue == nil {
            throw ParseError(-1, "challengeData.\(provider) should be an object.")
        }
        return [:]
    }
}
