import JSON
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

/// The e-mail address of a new or changed user.
extension UserRules {
    /// Address changes per user within ten minutes.
    private static let mostAddressChanges = 10
    /// Refused changes per user within ten minutes that don't count as changes.
    private static let mostRefusals = 100

    /// The origin of a new user's session.
    var createdWith: JSONObject {
        let isSignUp = claims.identities.isEmpty
        return [
            "action": isSignUp ? "signup" : "login", "authProvider": .string(isSignUp ? "password" : claims.names),
        ]
    }

    /// The user as it will be stored, for functions of the app.
    func subject(_ save: Save, _ stored: JSONObject) -> JSONObject {
        let secret: Set<Name> = ["password", "authData"]
        return stored.merging(save.body.filter { !secret.contains($0.key) }) { $1 }
    }

    /// Prepares the verification of a new address, and calls the app's functions before any lock is taken.
    mutating func beginVerification(
        _ save: inout Save, _ stored: JSONObject, original: JSONObject?, _ username: String
    ) async throws {
        let user = subject(save, stored)
        var request: JSONObject = ["object": .object(user)]
        request["original"] = original.map(JSONValue.object)
        if save.isNew { request["createdWith"] = .object(createdWith) }
        guard let token = try await backend.verifications.beginVerification(of: &save, request) else { return }
        let isSent = try await backend.verifications.isOn(
            .sendUserEmailVerification, save.context, { ["user": .object(user)] })
        verification = (token, username, isSent)
    }

    /// A changed address must be confirmed again, but not one that is sent unchanged. The former address gets a notice,
    /// even if there is no new one.
    mutating func completeAddress(_ save: inout Save, _ objectId: String) async throws {
        guard let change = save.body["email"],
            change.stringValue != nil || change.isNull || change["__op"]?.stringValue == "Delete"
        else { return }
        let email = change.stringValue ?? ""
        let confirms = configuration.accountMail.verifyUserEmails && !email.isEmpty
        guard confirms || backend.mails.sendsNotices,
            let user = try await store.accounts.mailUser(objectId, .verification)
        else { return }
        if let known = user.email, change.stringValue != nil, known.hasSameBytes(as: email) {
            // Nor is it written: another request may have changed it meanwhile, and have the other one confirmed.
            save.body["email"] = nil
            return
        }
        let former = backend.mails.sendsNotices ? user.email ?? "" : ""
        guard confirms || !former.isEmpty else { return }
        // The new address is sent a mail, and so is the one before it, whichever user has them.
        guard
            save.caller.writesEverything
                || services.addressChanges.countOneMore(Name(objectId), most: Self.mostAddressChanges)
        else {
            throw ParseError(
                ParseError.requestLimitExceeded, "The address was changed too often. Please try again later.")
        }
        let username = save.body["username"]?.stringValue ?? user.username
        if !former.isEmpty { notice = (former, username) }
        let original: JSONObject = ["objectId": .string(objectId)]
        do {
            try await beginVerification(&save, original, original: original, username)
        } catch {
            // No mail is sent. But each attempt calls functions of the app, so not all of them are free.
            if !save.caller.writesEverything,
                services.refusedAddresses.countOneMore(Name(objectId), most: Self.mostRefusals)
            {
                services.addressChanges.countOneLess(Name(objectId))
            }
            throw error
        }
    }
}
