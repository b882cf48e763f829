import HTTP
import JSON
import Operations
import Pages
import ParseModel
import Rules
import ServerConfiguration

/// Responds to a request below the pages folder with a page, or redirects to it like parse-server up to version 8.
struct PageRouter {
    private let routes: PageRoutes
    private let request: PageRequest
    private let context: RequestContext

    private enum Outcome {
        /// The verification link lacks a parameter.
        case incompleteLink
        /// The form that resends a verification link lacks a field.
        case incompleteForm
        case verified(username: String?)
        case notVerified(username: String?, token: String, isExpired: Bool)
        case sentAgain(Bool)
        case invalidReset(username: String?)
        case choosePassword(token: String, username: String?, error: String?)
        case passwordChanged(username: String?)
        case answered(Reply)
    }

    init(routes: PageRoutes, request: PageRequest, _ context: RequestContext) {
        self.routes = routes
        self.request = request
        self.context = context
    }

    private var configuration: Configuration { routes.configuration }
    private var showsPages: Bool { configuration.pages.enableRouter }
    private var isPost: Bool { request.method == "POST" }
    /// Whether links contain the user name. True for presets below 8.
    private var namesUser: Bool { configuration.preset < 8 }

    /// Responds to the request, or returns nil to leave it to the API routes.
    func reply() async throws -> Reply? {
        let path = request.path
        if path.count == 2, ["verify_email", "resend_verification_email", "request_password_reset"].contains(path[1]) {
            let step: (() async throws -> Outcome)? =
                switch (path[1], isPost) {
                case ("verify_email", false): verify
                case ("resend_verification_email", true): resend
                case ("request_password_reset", false): openReset
                case ("request_password_reset", true): reset
                default: nil
                }
            if step == nil, !showsPages { return nil }
            guard isOwn(path[0]) else { return PageRoutes.unauthorized }
            guard routes.hasLinks, let step else { return PageRoutes.notFound }
            let outcome = try await step()
            return showsPages ? reply(outcome) : redirected(outcome)
        }
        if showsPages { return isPost ? PageRoutes.notFound : file(path) }
        return path.count == 1 && !isPost ? redirectedFile(path[0]) : nil
    }

    private func isOwn(_ appId: String?) -> Bool { appId?.hasSameBytes(as: configuration.appId) ?? false }

    // MARK: Steps

    private func verify() async throws -> Outcome {
        guard let (token, username) = link else { return .incompleteLink }
        switch try await routes.backend.verifications.verifyEmail(token: token, username: username, context) {
        case .verified: return .verified(username: named(username))
        case .expired: return .notVerified(username: named(username), token: token, isExpired: true)
        case .invalid: return .notVerified(username: named(username), token: token, isExpired: false)
        }
    }

    private func resend() async throws -> Outcome {
        let (token, username) = (namesUser ? nil : request.field("token"), request.field("username"))
        guard token != nil || username != nil else { return .incompleteForm }
        return .sentAgain(
            try await routes.backend.verifications.resendVerification(token: token, username: username, context))
    }

    private func openReset() async throws -> Outcome {
        guard let (token, username) = link else { return .invalidReset(username: nil) }
        guard
            case .valid = try await routes.backend.passwordResets.passwordResetLink(
                token: token, username: username, context)
        else {
            return .invalidReset(username: named(username))
        }
        return .choosePassword(token: token, username: named(username), error: nil)
    }

    private func reset() async throws -> Outcome {
        let (token, username) = (request.field("token"), request.field("username"))
        let password = request.field("new_password")
        if request.isFromScript {
            let missing: ParseError? =
                namesUser && username == nil
                ? ParseError(ParseError.usernameMissing, "Missing username")
                : token == nil
                    ? ParseError(ParseError.otherCause, "Missing token")
                    : password == nil ? ParseError(ParseError.passwordMissing, "Missing password") : nil
            if let missing { return .answered(routes.json(missing)) }
        }
        guard let token, let password, !namesUser || username != nil else { return .invalidReset(username: nil) }
        do {
            if let again = request.field("confirm_new_password"), !again.hasSameBytes(as: password) {
                throw ParseError(ParseError.otherCause, "The passwords do not match")
            }
            try await routes.backend.passwordResets.resetPassword(
                token: token, username: username, to: password, context)
        } catch let error as ParseError where Self.isForPeople(error) {
            if request.isFromScript {
                return .answered(routes.json(ParseError(ParseError.otherCause, error.message)))
            }
            return .choosePassword(token: token, username: named(username), error: error.message)
        }
        if request.isFromScript {
            return .answered(.json(JSONValue.string("Password successfully reset").serialized()))
        }
        return .passwordChanged(username: named(username))
    }

    private var link: (token: String, username: String?)? {
        let username = request.queried("username")
        guard let token = request.queried("token"), !namesUser || username != nil else { return nil }
        return (token, username)
    }

    private func named(_ username: String?) -> String? { namesUser ? username : nil }

    /// Whether an error's text suits end users, as the texts of cloud code usually do.
    private static func isForPeople(_ error: ParseError) -> Bool {
        ![ParseError.internalServerError, ParseError.requestLimitExceeded, ParseError.timeout].contains(error.code)
    }

    // MARK: Pages

    private func reply(_ outcome: Outcome) -> Reply {
        switch outcome {
        case .incompleteLink, .incompleteForm: return show(.emailVerificationLinkInvalid)
        case .verified(let username): return show(.emailVerificationSuccess, [(.username, username)])
        case .notVerified(let username, let token, isExpired: true):
            return show(.emailVerificationLinkExpired, [(.username, username), (.token, namesUser ? nil : token)])
        case .notVerified(let username, _, isExpired: false):
            return show(
                namesUser ? .emailVerificationLinkExpired : .emailVerificationLinkInvalid, [(.username, username)])
        case .sentAgain(let isSent):
            let hides = configuration.accountMail.emailVerifySuccessOnInvalidEmail
            return show(isSent || hides ? .emailVerificationSendSuccess : .emailVerificationSendFail)
        case .invalidReset(let username): return show(.passwordResetLinkInvalid, [(.username, username)])
        case .choosePassword(let token, let username, nil):
            return show(.passwordReset, [(.token, token), (.username, username)])
        case .choosePassword(let token, let username, let error?):
            return show(
                .passwordReset, [(.username, username), (.token, token), (.error, error)], answersPost: true)
        case .passwordChanged(let username):
            return show(.passwordResetSuccess, [(.username, username)], answersPost: true)
        case .answered(let reply): return reply
        }
    }

    private var common: PageParameters {
        PageParameters([
            (.appId, configuration.appId), (.appName, configuration.accountMail.appName),
            (.publicServerUrl, configuration.linkURL), (.locale, PageSite.locale(request.locale)),
        ])
    }

    /// - Parameter answersPost: Whether the response to a POST is the page itself instead of a redirect to it.
    private func show(
        _ page: BuiltInPage, _ own: [(PageParameters.Key, String?)] = [], answersPost: Bool = false
    ) -> Reply {
        var parameters = PageParameters(own)
        for (key, value) in common.all { parameters[key] = value }
        if let url = configuration.pages.customURL(page.rawValue) {
            return routes.redirect(
                PageAddress.setting(parameters.all.map { ($0.key.rawValue, $0.value) }, in: url), status: 303)
        }
        let headers = parameters.headers(encodes: configuration.pages.encodePageParamHeaders)
        if configuration.pages.forceRedirect || (isPost && !answersPost) {
            return routes.redirect(routes.site.address(of: page, parameters), status: 303, headers)
        }
        guard let rendered = routes.site.page(page.fileName + ".html", parameters) else { return PageRoutes.notFound }
        return routes.html(rendered, headers)
    }

    private func file(_ path: [String]) -> Reply {
        if path == ["choose_password"] {
            guard isOwn(request.queried("appId") ?? request.queried("id")) else { return PageRoutes.unauthorized }
            guard routes.hasLinks else { return PageRoutes.notFound }
            return show(.passwordReset, [.token, .username, .error].map { ($0, request.queried(Name($0.rawValue))) })
        }
        let path = path.joined(separator: "/")
        if path.utf8.suffix(5).elementsEqual(".html".utf8) {
            var parameters = common
            for key in PageParameters.Key.allCases where parameters[key] == nil && key != .locale {
                parameters[key] = request.queried(Name(key.rawValue))
            }
            guard let page = routes.site.page(path, parameters) else { return PageRoutes.notFound }
            return routes.html(page, parameters.headers(encodes: configuration.pages.encodePageParamHeaders))
        }
        guard let asset = routes.site.asset(path) else { return PageRoutes.notFound }
        return routes.asset(asset)
    }

    // MARK: Redirects

    private func redirected(_ outcome: Outcome) -> Reply {
        switch outcome {
        case .incompleteLink, .invalidReset: return redirect(.invalidLink)
        case .incompleteForm:
            // A username sent twice can't match a user.
            return redirect(request.isRepeated("username") ? .linkSendFail : .invalidLink)
        case .verified(let username): return redirect(.verifyEmailSuccess, [("username", username)])
        case .notVerified(let username, let token, _):
            return redirect(
                .invalidVerificationLink,
                [("username", username), ("appId", configuration.appId), ("token", namesUser ? nil : token)])
        case .sentAgain(let isSent): return redirect(isSent ? .linkSendSuccess : .linkSendFail)
        case .choosePassword(let token, let username, let error):
            let link = [("token", token), ("id", configuration.appId)]
            let user = [("username", username)]
            return redirect(
                .choosePassword,
                (error == nil ? link + user : user + link)
                    + [("error", error), ("app", configuration.accountMail.appName)])
        case .passwordChanged(let username): return redirect(.passwordResetSuccess, [("username", username)])
        case .answered(let reply): return reply
        }
    }

    private func redirect(_ page: Configuration.CustomPage, _ parameters: [(String, String?)] = []) -> Reply {
        let address =
            configuration.customPages.urls[page]
            ?? "\(configuration.linkURL ?? "")/\(configuration.pages.pagesEndpoint)/\(Self.file(page))"
        let present = parameters.compactMap { name, value in value.map { (name, $0) } }
        return routes.redirect(PageAddress.appending(present, to: address), status: 302)
    }

    private static func file(_ page: Configuration.CustomPage) -> String {
        switch page {
        case .choosePassword: "choose_password"
        case .invalidLink, .invalidPasswordResetLink: "invalid_link.html"
        case .invalidVerificationLink, .expiredVerificationLink: "invalid_verification_link.html"
        case .linkSendSuccess: "link_send_success.html"
        case .linkSendFail: "link_send_fail.html"
        case .verifyEmailSuccess: "verify_email_success.html"
        case .passwordResetSuccess: "password_reset_success.html"
        }
    }

    /// Returns the page that a redirect leads to, filled with values from the query string, or another file. Returns
    /// nil if the file doesn't exist.
    private func redirectedFile(_ file: String) -> Reply? {
        if file == "choose_password" {
            guard isOwn(request.queried("id") ?? request.queried("appId")) else { return PageRoutes.unauthorized }
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
