public import ParseModel
import Postgres

/// Counts of failed log-in attempts, stored in the user's row.
extension AccountRows {
    private static let counted = """
        CASE WHEN "_account_lockout_expires_at" IS NULL THEN COALESCE("_failed_login_count", 0) ELSE 0 END
        """

    /// Counts a log-in attempt. The attempt that reaches the threshold locks the account.
    ///
    /// - Parameters:
    ///   - threshold: The number of attempts that locks the account.
    ///   - end: The end of the lock that this attempt starts if it reaches the threshold.
    /// - Returns: False if the account is locked or doesn't exist.
    public func reserveAttempt(of userId: String, threshold: Int, until end: ParseDate, now: ParseDate) async throws
        -> Bool
    {
        let reserved = try await store.query(
            """
            UPDATE "_User" SET "_failed_login_count" = \(Self.counted) + 1, "_account_lockout_expires_at" =
                CASE WHEN \(Self.counted) + 1 >= $2 THEN $3 END
            WHERE "objectId" = $1
                AND ("_account_lockout_expires_at" IS NULL OR "_account_lockout_expires_at" <= $4)
            RETURNING 1
            """,
            [
                .text(userId), .double(Double(threshold)), .timestamp(milliseconds: end.milliseconds),
                .timestamp(milliseconds: now.milliseconds),
            ])
        return reserved.rowCount > 0
    }

    /// Commits a transaction without changes that takes about as long as ``reserveAttempt(of:threshold:until:now:)``. A
    /// log-in under an unknown name then takes as long as one under a known name.
    public func simulateAttempt() async throws {
        do {
            // PostgreSQL writes the message to its write-ahead log, for which the commit waits.
            _ = try await store.query("SELECT pg_logical_emit_message(true, 'roost', '')")
        } catch let error as PostgresError where error.sqlState == "42501" {
            // Some hosting providers reserve the function for superusers. Then only the round trip takes the same time.
        }
    }

    /// Returns the end of an account's latest lock, which may be in the past, in milliseconds since 1970. Returns nil
    /// if the account has no lock or doesn't exist.
    public func lockEnd(of userId: String) async throws -> Int64? {
        let rows = try await store.query(
            "SELECT \"_account_lockout_expires_at\" FROM \"_User\" WHERE \"objectId\" = $1", [.text(userId)],
            readOnly: true)
        return rows.rowCount > 0 ? rows.timestamp(0, 0) : nil
    }

    /// Undoes ``reserveAttempt(of:threshold:until:now:)``, including its lock, for an attempt that doesn't count.
    public func releaseAttempt(of userId: String, threshold: Int) async throws {
        _ = try await store.query(
            """
            UPDATE "_User" SET "_failed_login_count" = GREATEST(COALESCE("_failed_login_count", 0) - 1, 0),
                "_account_lockout_expires_at" = CASE WHEN COALESCE("_failed_login_count", 0) - 1 >= $2
                    THEN "_account_lockout_expires_at" END
            WHERE "objectId" = $1
            """, [.text(userId), .double(Double(threshold))])
    }

    /// Resets a user's failed attempts and removes the lock.
    public func resetAttempts(of userId: String) async throws {
        _ = try await store.query(
            """
            UPDATE "_User" SET "_failed_login_count" = 0, "_account_lockout_expires_at" = NULL
            WHERE "objectId" = $1
            """, [.text(userId)])
    }
}
