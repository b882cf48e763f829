import Encoding

/// What a request wants to do with the thing that its path names.
public enum Method: String, Sendable {
    case get = "GET"
    case post = "POST"
    case put = "PUT"
    case delete = "DELETE"

    /// Reads a method name in any case. `PATCH` counts as `PUT`, `HEAD` as `GET`; nil for anything else.
    public init?(name: String) {
        switch name {
        case "GET", "HEAD": self = .get
        case "POST": self = .post
        case "PUT", "PATCH": self = .put
        case "DELETE": self = .delete
        default:
            let capitals = name.asciiUppercased
            guard capitals != name else { return nil }
            self.init(name: capitals)
        }
    }
}
