import Encoding
import HTTP
import ParseModel
public import Rules

/// The rights that a site within the server gives a request instead of keys, and its additions to the request. Client
/// headers can't set them.
public final class RequestAuthority: Sendable {
    /// A caller that reads and cloud functions run as, instead of the site's user.
    public enum ViewAs: Sendable, Hashable {
        /// A user, who doesn't have to be signed in.
        case user(id: String)
        /// A client without a user.
        case anonymous
    }

    let power: Caller.Power
    /// The caller that reads and cloud functions run as, or nil for the rights of ``power``.
    public let viewAs: ViewAs?
    /// The update time that the object must still have for a write, or nil to skip this check.
    public let ifUpdatedAt: ParseDate?
    /// The length in bytes above which values are truncated, or nil to return them whole.
    public let shorten: Int?
    /// The name stored with objects moved to the trash, or nil if deletions are final.
    public let operatorName: String?
    /// Secrets that the site's user doesn't see.
    let hiddenSecrets: Caller.HiddenSecrets

    public init(
        _ power: Caller.Power, viewAs: ViewAs? = nil, ifUpdatedAt: ParseDate? = nil, shorten: Int? = nil,
        operatorName: String? = nil, hiddenSecrets: Caller.HiddenSecrets = []
    ) {
        self.power = power
        self.viewAs = viewAs
        self.ifUpdatedAt = ifUpdatedAt
        self.shorten = shorten
        self.operatorName = operatorName
        self.hiddenSecrets = hiddenSecrets
    }

    /// The error for writes while viewing as another caller.
    static let viewsOnly = HTTPError(status: 400, message: "Read-only while viewing as a user.")

    /// Whether a path calls a cloud function. Functions may run as another user, because their code decides what to
    /// allow.
    package static func isFunction(_ path: [some StringProtocol]) -> Bool {
        path.count == 2 && String(path[0]).asciiLowercased == "functions"
    }

    /// The authority for each call of a batch. Leaves out the update time, which belongs to one object.
    var ofElements: RequestAuthority {
        RequestAuthority(
            power, viewAs: viewAs, shorten: shorten, operatorName: operatorName, hiddenSecrets: hiddenSecrets)
    }
}
