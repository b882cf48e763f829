import HTTP
import JSON
import Operations
import Pages
import ParseModel
import Rules

/// Pages answered as such.
struct PageRouter {
    private let routes: PageRoutes
    private let request: PageRequest
    private let context: RequestContext
    private var common: PageParameters

    init(routes: PageRoutes, request: PageRequest, _ context: RequestContext) {
        self.routes = routes
        self.request = request
        self.context = context
        common = PageParameters([
            (.appId, routes.configuration.appId), (.appName, routes.configuration.accountMail.appName),
            (.publicServerUrl, routes.configuration.linkURL), (.locale, PageSite.locale(request.locale)),
        ])
    }

    private var isPost: Bool { request.method == "POST" }
    /// Links up to preset 7 name the user.
    private var namesUser: Bool { routes.configuration.preset < 8 }

    func reply() async throws -> Reply {
        let path = request.path
        if path.count == 1, path[0] == "choose_password", !isPost {
            guard isOwn(request.queried("appId") ?? request.queried("id")) else { return PageRoutes.unauthorized }
            guard routes.hasLinks else { return PageRoutes.notFound }
            return goTo(
                .passwordReset,
                [
                    (.token, request.queried("token")), (.username, request.queried("username")),
                    (.error, request.queried("error")),
                ])
        }
        if path.count == 2, ["verify_email", "resend_verification_email", "request_password_reset"].contains(path[1]) {
            guard isOwn(path[0]) else { return PageRoutes.unauthorized }
            guard routes.hasLinks else { return PageRoutes.notFound }
            switch (path[1], isPost) {
            case ("verify_email", false): return try await verify()
            case ("resend_verification_email", true): return try await resend()
            case ("request_password_reset", false): return try await openReset()
            case ("request_password_reset", true): return try await reset()
            default: return PageRoutes.notFound
            }
        }
        return isPost ? PageRoutes.notFound : file(path.joined(separator: "/"))
    }

    private func isOwn(_ appId: String?) -> Bool { appId?.hasSameBytes(as: routes.configuration.appId) ?? false }

    private func verify() async throws -> Reply {
        let username = request.queried("username")
        guard let token = request.queried("token"), !namesUser || username != nil else {
            return goTo(.emailVerificationLinkInvalid)
        }
        let user = namesUser ? username : nil
        switch try await routes.backend.verifyEmail(token: token, username: username, context) {
        case .verified: return goTo(.emailVerificationSuccess, [(.username, user)])
        case .expired:
            return goTo(.emailVerificationLinkExpired, [(.username, user), (.token, namesUser ? nil : token)])
        case .invalid:
            return goTo(namesUser ? .emailVerificationLinkExpired : .emailVerificationLinkInvalid, [(.username, user)])
        }
    }

    private func resend() async throws -> Reply {
        let (token, username) = (namesUser ? nil : request.field("token"), request.field("username"))
        guard token != nil || username != nil else { return goTo(.emailVerificationLinkInvalid) }
        let isSent = try await routes.backend.resendVerification(token: token, username: username, context)
        let hides = routes.configuration.accountMail.emailVerifySuccessOnInvalidEmail
        return goTo(isSent || hides ? .emailVerificationSendSuccess : .emailVerificationSendFail)
    }

    private func openReset() async throws -> Reply {
        let username = request.queried("username")
        guard let token = request.queried("token"), !namesUser || username != nil else {
            return goTo(.passwordResetLinkInvalid)
        }
        let user = namesUser ? username : nil
        switch try await routes.backend.passwordResetLink(token: token, username: username, context) {
        case .valid: return goTo(.passwordReset, [(.token, token), (.username, user)])
        case .invalid, .expired: return goTo(.passwordResetLinkInvalid, [(.username, user)])
        }
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
        guard let token, let password, !namesUser || username != nil else { return goTo(.passwordResetLinkInvalid) }
        let user = namesUser ? username : nil
        do {
            if let again = request.field("confirm_new_password"), !again.hasSameBytes(as: password) {
                throw ParseError(ParseError.otherCause, "The passwords do not match")
            }
            try await routes.backend.resetPassword(token: token, username: username, to: password, context)
        } catch let error as ParseError where Self.isTold(error) {
            if request.isFromScript { return routes.json(ParseError(ParseError.otherCause, error.message)) }
            return goTo(
                .passwordReset, [(.username, user), (.token, token), (.error, error.message)], answersPost: true)
        }
        if request.isFromScript { return .json(JSONValue.string("Password successfully reset").serialized()) }
        return goTo(.passwordResetSuccess, [(.username, user)], answersPost: true)
    }

    /// Whether a reason is for the person in front of the page; what cloud code says is.
    static func isTold(_ error: ParseError) -> Bool {
        ![ParseError.internalServerError, ParseError.requestLimitExceeded, ParseError.timeout].contains(error.code)
    }

    /// The answer that shows a page.
    ///
    /// - Parameter answersPost: Whether a form is answered by the page itself, and not by a redirect to it.
    private func goTo(
        _ page: BuiltInPage, _ own: [(PageParameters.Key, String?)] = [], answersPost: Bool = false
    ) -> Reply {
        var parameters = PageParameters(own)
        for (key, value) in common.all { parameters[key] = value }
        if let url = routes.configuration.pages.customURL(page.rawValue) {
            return routes.redirect(
                PageAddress.setting(parameters.all.map { ($0.key.rawValue, $0.value) }, in: url), status: 303)
        }
        let headers = parameters.headers(encodes: routes.configuration.pages.encodePageParamHeaders)
        if routes.configuration.pages.forceRedirect || (isPost && !answersPost) {
            return routes.redirect(site.address(of: page, parameters), status: 303, headers)
        }
        guard let rendered = site.page(page.fileName + ".html", parameters) else { return PageRoutes.notFound }
        return routes.html(rendered, headers)
    }

    private var site: PageSite { routes.site }

    /// A file below the folder; pages show what the query says.
    private func file(_ path: String) -> Reply {
        if path.utf8.suffix(5).elementsEqual(".html".utf8) {
            var parameters = common
            for key in PageParameters.Key.allCases where parameters[key] == nil && key != .locale {
                parameters[key] = request.queried(Name(key.rawValue))
            }
            guard let page = site.page(path, parameters) else { return PageRoutes.notFound }
            return routes.html(page, parameters.headers(encodes: routes.configuration.pages.encodePageParamHeaders))
        }
        guard let asset = site.asset(path) else { return PageRoutes.notFound }
        return routes.asset(asset)
    }
}
