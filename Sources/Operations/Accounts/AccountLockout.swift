import JSON
import ParseModel
import ParseStorage
import Postgres
import Rules

/// The option `accountLockout`: so many wrong passwords lock an account for a while.
extension Backend {
    /// Whether a lock has ended: what was counted before it counts no more.
    private static let counted = """
        CASE WHEN "_account_lockout_expires_at" IS NULL THEN COALESCE("_failed_login_count", 0) ELSE 0 END
        """

    /// Counts an attempt before its password is compared, so that of many sent side by side no more are compared than
    /// the threshold says, here or in other processes. The attempt that reaches it locks the account.
    ///
    /// - Throws: 101 when the account is locked.
    func reserveAttempt(of userId: String, _ context: RequestContext) async throws {
        guard let policy = configuration.accountLockout else { return }
        let now = context.now.milliseconds
        let reserved = try await store.query(
            Statement(
                """
                UPDATE "_User" SET "_failed_login_count" = \(Self.counted) + 1, "_account_lockout_expires_at" =
                    CASE WHEN \(Self.counted) + 1 >= $2 THEN $3 END
                WHERE "objectId" = $1
                    AND ("_account_lockout_expires_at" IS NULL OR "_account_lockout_expires_at" <= $4)
                RETURNING 1
                """,
                [
                    .text(userId), .double(Double(policy.threshold)),
                    .timestamp(milliseconds: now + Int64(policy.duration * 60_000)), .timestamp(milliseconds: now),
                ]))
        guard reserved.rowCount == 0 else { return }
        let minutes = JSONValue.number(policy.duration).text
        throw ParseError(
            ParseError.objectNotFound,
            "Your account is locked due to multiple failed login attempts. Please try again after "
                + "\(minutes) minute(s)")
    }

    /// Takes back an attempt whose password was not compared after all.
    func releaseAttempt(of userId: String) async {
        guard let policy = configuration.accountLockout else { return }
        _ = try? await store.query(
            Statement(
                """
                UPDATE "_User" SET "_failed_login_count" = GREATEST(COALESCE("_failed_login_count", 0) - 1, 0),
                    "_account_lockout_expires_at" = CASE WHEN COALESCE("_failed_login_count", 0) - 1 >= $2
                        THEN "_account_lockout_expires_at" END
                WHERE "objectId" = $1
                """, [.text(userId), .double(Double(policy.threshold))]))
    }

    /// Forgets the attempts of a user whose password was right.
    func resetAttempts(of userId: String) async throws {
        guard configuration.accountLockout != nil else { return }
        _ = try await store.query(
            Statement(
                """
                UPDATE "_User" SET "_failed_login_count" = 0, "_account_lockout_expires_at" = NULL
                WHERE "objectId" = $1
                """, [.text(userId)]))
    }
}
