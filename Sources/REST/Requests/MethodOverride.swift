import Encoding
import HTTP
import JSON

/// The method that a request means: SDKs send most things as `POST` with `_method` in the body.
enum MethodOverride {
    /// The method's name after an override, upper-cased; the override is removed from the body.
    ///
    /// Only a real `POST` can be overridden, and an empty `_method` is an ordinary key.
    static func apply(to name: String, body: inout JSONObject) -> String {
        guard name == "POST", let value = body["_method"], !value.isFalsy else { return name }
        body["_method"] = nil
        guard case .string(let method) = value else { return "" }
        return method.asciiUppercased
    }
}
