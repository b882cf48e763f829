import Encoding
import HTTP
import ParseModel
public import Rules

/// What the console asks for with a request besides what the REST interface has. Only the console's dispatcher makes
/// one: no header field of a client becomes any of it.
public final class ConsoleRequest: Sendable {
    /// With whose eyes a read is answered.
    public enum ViewAs: Sendable, Hashable {
        /// As a user sees it, who need not be logged in.
        case user(id: String)
        /// As a client without a user sees it.
        case anonymous
    }

    /// With whose eyes a read is answered, or a function of cloud code is called; nil with those of the operator's role.
    public let viewAs: ViewAs?
    /// When the object that is changed or removed was changed last, as far as the operator saw; nil for at any time.
    public let ifUpdatedAt: ParseDate?
    /// From how many bytes on values are shortened; nil for never.
    public let shorten: Int?
    /// The operator's name, under which the trash keeps what is removed; nil where removals are final.
    public let operatorName: String?
    /// Secrets that the operator's role doesn't see.
    let hiddenSecrets: Caller.HiddenSecrets

    public init(
        viewAs: ViewAs? = nil, ifUpdatedAt: ParseDate? = nil, shorten: Int? = nil, operatorName: String? = nil,
        hiddenSecrets: Caller.HiddenSecrets = []
    ) {
        self.viewAs = viewAs
        self.ifUpdatedAt = ifUpdatedAt
        self.shorten = shorten
        self.operatorName = operatorName
        self.hiddenSecrets = hiddenSecrets
    }

    /// The refusal of a write with the eyes of another.
    static let viewsOnly = HTTPError(status: 400, message: "Read-only while viewing as a user.")

    /// Whether a path is that of a function, which may be called as another: what it does is the code's to allow.
    package static func isFunction(_ path: [some StringProtocol]) -> Bool {
        path.count == 2 && String(path[0]).asciiLowercased == "functions"
    }

    /// What holds for each call of a batch: not the date, which is that of one object.
    var ofElements: ConsoleRequest {
        ConsoleRequest(viewAs: viewAs, shorten: shorten, operatorName: operatorName, hiddenSecrets: hiddenSecrets)
    }
}
