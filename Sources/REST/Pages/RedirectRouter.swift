import HTTP
import JSON
import Operations
import Pages
import ParseModel
import Rules
import ServerConfiguration

/// Pages that are redirected to, as parse-server did up to version 8.
struct RedirectRouter {
    private let routes: PageRoutes
    private let request: PageRequest
    private let context: RequestContext

    init(routes: PageRoutes, request: PageRequest, _ context: RequestContext) {
        self.routes = routes
        self.request = request
        self.context = context
    }

    private var configuration: Configuration { routes.configuration }
    private var namesUser: Bool { configuration.preset < 8 }

    /// Answers a request; nil for what needs keys as every other route does.
    func reply() async throws -> Reply? {
        let path = request.path
        let isPost = request.method == "POST"
        if path.count == 1, !isPost { return page(path[0]) }
        guard path.count == 2 else { return nil }
        let answer: (() async throws -> Reply)? =
            switch (path[1], isPost) {
            case ("verify_email", false): verify
            case ("resend_verification_email", true): resend
            case ("request_password_reset", false): openReset
            case ("request_password_reset", true): reset
            default: nil
            }
        guard let answer else { return nil }
        guard path[0].hasSameBytes(as: configuration.appId) else { return PageRoutes.unauthorized }
        guard routes.hasLinks else { return PageRoutes.notFound }
        return try await answer()
    }

    private func verify() async throws -> Reply {
        let username = request.queried("username")
        guard let token = request.queried("token"), !namesUser || username != nil else { return goTo(.invalidLink) }
        switch try await routes.backend.verifyEmail(token: token, username: username, context) {
        case .verified: return goTo(.verifyEmailSuccess, [("username", named(username))])
        case .invalid, .expired:
            return goTo(
                .invalidVerificationLink,
                [
                    ("username", named(username)), ("appId", configuration.appId),
                    ("token", namesUser ? nil : token),
                ])
        }
    }

    private func resend() async throws -> Reply {
        let username = request.field("username")
        let token = namesUser ? nil : request.field("token")
        if username == nil, token == nil {
            // A name that is sent twice is the name of nobody.
            return goTo(request.isRepeated("username") ? .linkSendFail : .invalidLink)
        }
        let isSent = try await routes.backend.resendVerification(token: token, username: username, context)
        return goTo(isSent ? .linkSendSuccess : .linkSendFail)
    }

    private func openReset() async throws -> Reply {
        let username = request.queried("username")
        guard let token = request.queried("token"), !namesUser || username != nil,
            case .valid = try await routes.backend.passwordResetLink(token: token, username: username, context)
        else { return goTo(.invalidLink) }
        return goTo(
            .choosePassword,
            [
                ("token", token), ("id", configuration.appId), ("username", named(username)),
                ("app", configuration.accountMail.appName),
            ])
    }

    private func reset() async throws -> Reply {
        let (token, username) = (request.field("token"), request.field("username"))
        let password = request.field("new_password")
        if request.isFromScript {
            if namesUser, username == nil {
                return routes.json(ParseError(ParseError.usernameMissing, "Missing username"))
            }
            if token == nil { return routes.json(ParseError(ParseError.otherCause, "Missing token")) }
            if password == nil { return routes.json(ParseError(ParseError.passwordMissing, "Missing password")) }
        }
        guard let token, let password, !namesUser || username != nil else { return goTo(.invalidLink) }
        do {
            if let again = request.field("confirm_new_password"), !again.hasSameBytes(as: password) {
                throw ParseError(ParseError.otherCause, "The passwords do not match")
            }
            try await routes.backend.resetPassword(token: token, username: username, to: password, context)
        } catch let error as ParseError where PageRouter.isTold(error) {
            if request.isFromScript { return routes.json(ParseError(ParseError.otherCause, error.message)) }
            return goTo(
                .choosePassword,
                [
                    ("username", named(username)), ("token", token), ("id", configuration.appId),
                    ("error", error.message), ("app", configuration.accountMail.appName),
                ])
        }
        if request.isFromScript { return .json(JSONValue.string("Password successfully reset").serialized()) }
        return goTo(.passwordResetSuccess, [("username", named(username))])
    }

    /// The name of the user, for the servers that tell it.
    private func named(_ username: String?) -> String? { namesUser ? username : nil }

    private func goTo(_ page: Configuration.CustomPage, _ parameters: [(String, String?)] = []) -> Reply {
        let address =
            configuration.customPages.urls[page]
            ?? "\(configuration.linkURL ?? "")/\(configuration.pages.pagesEndpoint)/\(Self.file(page))"
        let told = parameters.compactMap { name, value in value.map { (name, $0) } }
        return routes.redirect(PageAddress.appending(told, to: address), status: 302)
    }

    /// The file of a page.
    private static func file(_ page: Configuration.CustomPage) -> String {
        switch page {
        case .choosePassword: "choose_password"
        case .invalidLink: "invalid_link.html"
        case .invalidVerificationLink, .expiredVerificationLink: "invalid_verification_link.html"
        case .invalidPasswordResetLink: "invalid_link.html"
        case .linkSendSuccess: "link_send_success.html"
        case .linkSendFail: "link_send_fail.html"
        case .verifyEmailSuccess: "verify_email_success.html"
        case .passwordResetSuccess: "password_reset_success.html"
        }
    }

    /// A page that a redirect led to, which shows what its address says.
    private func page(_ file: String) -> Reply? {
        if file == "choose_password" {
            let appId = request.queried("id") ?? request.queried("appId")
            guard appId?.hasSameBytes(as: configuration.appId) == true else { return PageRoutes.unauthorized }
            guard routes.hasLinks else { return PageRoutes.notFound }
        }
        let parameters = PageParameters([
            (.token, request.queried("token")), (.username, request.queried("username")),
            (.appName, configuration.accountMail.appName ?? request.queried("app")),
            (.error, request.queried("error")), (.locale, PageSite.locale(request.locale)),
        ])
        if let page = routes.site.page(file, parameters) { return routes.html(page) }
        guard let asset = routes.site.asset(file) else { return nil }
        return routes.asset(asset)
    }
}
