import JSON
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

/// Handles the email address of a new or changed user.
extension UserRules {
    /// The maximum number of address changes per user within ten minutes.
    private static let maxAddressChanges = 10
    /// The maximum number of rejected changes per user within ten minutes that don't count as changes.
    private static let maxRefusals = 100

    /// The origin of a new user's session.
    var createdWith: JSONObject {
        let isSignUp = claims.identities.isEmpty
        return [
            "action": isSignUp ? "signup" : "login", "authProvider": .string(isSignUp ? "password" : claims.names),
        ]
    }

    /// Returns the user as it will be stored, without password and `authData`, for app functions.
    func subject(_ save: Save, _ stored: JSONObject) -> JSONObject {
        let secret: Set<Name> = ["password", "authData"]
        return stored.merging(save.body.filter { !secret.contains($0.key) }) { $1 }
    }

    /// Prepares the verification of a new address. Calls app functions here, before any lock is acquired.
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

    /// Requires verification of a changed address, but not of one sent unchanged. The former address is notified, even
    /// if the address is removed.
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
            // The unchanged address isn't written either, since another request may be changing it.
            save.body["email"] = nil
            return
        }
        let former = backend.mails.sendsNotices ? user.email ?? "" : ""
        guard confirms || !former.isEmpty else { return }
        // A change sends email to both the new and the former address, which may belong to strangers.
        guard
            save.caller.writesEverything
                || services.addressChanges.countOneMore(Name(objectId), limit: Self.maxAddressChanges)
        else {
            throw ParseError(
                ParseError.requestLimitExceeded, "The email address was changed too often. Please try again later.")
        }
        let username = save.body["username"]?.stringValue ?? user.username
        if !former.isEmpty { notice = (former, username) }
        let original: JSONObject = ["objectId": .string(objectId)]
        do {
            try await beginVerification(&save, original, original: original, username)
        } catch {
            // No email is sent, so the change doesn't count. But each attempt calls app functions, so the number of
            // such attempts is limited.
            if !save.caller.writesEverything,
                services.refusedAddresses.countOneMore(Name(objectId), limit: Self.maxRefusals)
            {
                services.addressChanges.countOneLess(Name(objectId))
            }
            throw error
        }
    }
}
