import JSON
import Operations
import ServerConfiguration

/// LINE: a token that LINE signed, or what LINE's profile is asked by.
struct LineProvider: AuthProvider {
    let signed: TokenProvider
    let profile: ProfileProvider

    func check(_ name: Name, _ options: JSONObject) throws(ConfigurationError) { try profile.check(name, options) }

    func exchange(_ data: JSONObject, _ options: JSONObject) async throws -> JSONObject {
        data["id_token"]?.isTruthy == true ? data : try await profile.exchange(data, options)
    }

    func validate(_ data: JSONObject, _ options: JSONObject) async throws {
        if data["id_token"]?.isTruthy == true {
            try await signed.validate(data, options)
        } else {
            try await profile.validate(data, options)
        }
    }

    func shown(_ stored: JSONObject, _ options: JSONObject) -> JSONObject { profile.shown(stored, options) }
}
