/// A database created and filled by parse-server, as SQL statements.
enum ParseServerDatabase {
    static let token = "r:0123456789abcdef0123456789abcdef"
    static let expiredToken = "r:ffffffffffffffffffffffffffffffff"
    /// The password of `kim`, hashed with bcrypt's default cost.
    static let password = "correct horse"

    static let script = volatileTables + users + classes + rows + "\n" + functions

    /// The result of changing a hook. The table has no primary key, so the old row remains.
    static let changedHook = """

        INSERT INTO "_Hooks" VALUES ('f', NULL, NULL, 'https://new.example');
        """

    private static let common = """
        "objectId" text PRIMARY KEY, "createdAt" timestamptz, "updatedAt" timestamptz, "_rperm" text[], "_wperm" text[]
        """

    private static let volatileTables = """
        CREATE TABLE "_SCHEMA" ("className" varchar(120) PRIMARY KEY, "schema" jsonb, "isParseClass" bool);
        CREATE TABLE "_Hooks" ("functionName" text, "className" text, "triggerName" text, "url" text);
        CREATE TABLE "_GlobalConfig" ("objectId" text PRIMARY KEY, "params" jsonb, "masterKeyOnly" jsonb);
        CREATE TABLE "_GraphQLConfig" ("objectId" text PRIMARY KEY, "config" jsonb);
        CREATE TABLE "_Audience" (\(common), "name" text, "query" text, "lastUsed" timestamptz, "timesUsed" float8);
        CREATE TABLE "_Idempotency" (\(common), "reqId" text, "expire" timestamptz);
        CREATE TABLE "_JobStatus" (\(common), "jobName" text, "source" text, "status" text, "message" text,
            "params" jsonb, "finishedAt" timestamptz);
        CREATE TABLE "_JobSchedule" (\(common), "jobName" text, "description" text, "params" text, "startAfter" text,
            "daysOfWeek" jsonb, "timeOfDay" text, "lastRun" float8, "repeatMinutes" float8);
        CREATE TABLE "_PushStatus" (\(common), "pushTime" text, "source" text, "query" text, "payload" text,
            "title" text, "expiry" float8, "expiration_interval" float8, "status" text, "numSent" float8,
            "numFailed" float8, "pushHash" text, "errorMessage" jsonb, "sentPerType" jsonb, "failedPerType" jsonb,
            "sentPerUTCOffset" jsonb, "failedPerUTCOffset" jsonb, "count" float8);

        """

    /// The tables of users. The row of `_User` is that of parse-server after a field was deleted.
    private static let users = """
        CREATE TABLE "_User" (\(common), "username" text, "email" text, "emailVerified" boolean, "authData" jsonb,
            "_hashed_password" text, "_email_verify_token_expires_at" timestamptz, "_email_verify_token" text,
            "_account_lockout_expires_at" timestamptz, "_failed_login_count" float8, "_perishable_token" text,
            "_perishable_token_expires_at" timestamptz, "_password_changed_at" timestamptz, "_password_history" jsonb,
            "nickname" text);
        CREATE TABLE "_Role" (\(common), "name" text);
        CREATE TABLE "_Session" (\(common), "user" text, "installationId" text, "sessionToken" text,
            "expiresAt" timestamptz, "createdWith" jsonb);
        CREATE TABLE "_Join:users:_Role" ("relatedId" varchar(120), "owningId" varchar(120),
            PRIMARY KEY ("relatedId", "owningId"));
        CREATE TABLE "_Join:roles:_Role" ("relatedId" varchar(120), "owningId" varchar(120),
            PRIMARY KEY ("relatedId", "owningId"));
        INSERT INTO "_SCHEMA" VALUES
        ('_User', '{"className": "_User", "fields": {"objectId": {"type": "String"}, "createdAt": {"type": "Date"},
            "updatedAt": {"type": "Date"}, "ACL": {"type": "ACL"}, "username": {"type": "String"},
            "password": {"type": "String"}, "email": {"type": "String"}, "emailVerified": {"type": "Boolean"},
            "authData": {"type": "Object"}, "nickname": {"type": "String"}},
            "classLevelPermissions": {"get": {"*": true}, "find": {"*": true}, "count": {"*": true},
            "create": {"*": true}, "update": {"*": true}, "delete": {"*": true}, "addField": {"*": true},
            "protectedFields": {"*": []}}}', true),
        ('_Role', '{"className": "_Role", "fields": {"objectId": {"type": "String"}, "createdAt": {"type": "Date"},
            "updatedAt": {"type": "Date"}, "name": {"type": "String"},
            "users": {"type": "Relation", "targetClass": "_User"}, "roles": {"type": "Relation", "targetClass": "_Role"},
            "_rperm": {"type": "Array", "contents": {"type": "String"}},
            "_wperm": {"type": "Array", "contents": {"type": "String"}}}}', true),
        ('_Session', '{"className": "_Session", "fields": {"objectId": {"type": "String"},
            "createdAt": {"type": "Date"}, "updatedAt": {"type": "Date"},
            "user": {"type": "Pointer", "targetClass": "_User"}, "installationId": {"type": "String"},
            "sessionToken": {"type": "String"}, "expiresAt": {"type": "Date"}, "createdWith": {"type": "Object"},
            "_rperm": {"type": "Array", "contents": {"type": "String"}},
            "_wperm": {"type": "Array", "contents": {"type": "String"}}}}', true);
        CREATE UNIQUE INDEX "_User_unique_username" ON "_User" ("username");
        CREATE UNIQUE INDEX "_User_unique_email" ON "_User" ("email");
        CREATE INDEX "case_insensitive_username" ON "_User" (lower("username") varchar_pattern_ops);
        CREATE INDEX "case_insensitive_email" ON "_User" (lower("email") varchar_pattern_ops);
        CREATE UNIQUE INDEX "_Role_unique_name" ON "_Role" ("name");
        CREATE UNIQUE INDEX "_Idempotency_unique_reqId" ON "_Idempotency" ("reqId");
        CREATE INDEX "ttl" ON "_Idempotency" ("expire");

        """

    /// A class with a field of each type, one that only the role `Editors` can read, and one whose schema row has no
    /// class name, as if created together with its first field.
    private static let classes = """
        CREATE TABLE "Everything" (\(common), "s" text, "n" float8, "b" boolean, "d" timestamptz, "o" jsonb, "l" jsonb,
            "y" jsonb, "p" text, "f" text, "g" point, "q" polygon);
        CREATE TABLE "_Join:r:Everything" ("relatedId" varchar(120), "owningId" varchar(120),
            PRIMARY KEY ("relatedId", "owningId"));
        CREATE INDEX "byNumber" ON "Everything" ("n", "s");
        CREATE TABLE "Draft" (\(common), "text" text);
        CREATE TABLE "Side" (\(common), "text" text);
        INSERT INTO "_SCHEMA" VALUES
        ('Everything', '{"className": "Everything", "fields": {"objectId": {"type": "String"},
            "createdAt": {"type": "Date"}, "updatedAt": {"type": "Date"}, "s": {"type": "String"},
            "n": {"type": "Number"}, "b": {"type": "Boolean"}, "d": {"type": "Date"}, "o": {"type": "Object"},
            "l": {"type": "Array"}, "y": {"type": "Bytes"}, "p": {"type": "Pointer", "targetClass": "_User"},
            "f": {"type": "File"}, "g": {"type": "GeoPoint"}, "q": {"type": "Polygon"},
            "r": {"type": "Relation", "targetClass": "_User"},
            "_rperm": {"type": "Array", "contents": {"type": "String"}},
            "_wperm": {"type": "Array", "contents": {"type": "String"}}},
            "indexes": {"_id_": {"_id": 1}, "byNumber": {"n": 1, "s": 1}}}', true),
        ('Draft', '{"className": "Draft", "fields": {"objectId": {"type": "String"}, "createdAt": {"type": "Date"},
            "updatedAt": {"type": "Date"}, "text": {"type": "String"},
            "_rperm": {"type": "Array", "contents": {"type": "String"}},
            "_wperm": {"type": "Array", "contents": {"type": "String"}}},
            "classLevelPermissions": {"find": {"role:Editors": true}, "get": {"role:Editors": true}}}', true),
        ('Side', '{"fields": {"objectId": {"type": "String"}, "createdAt": {"type": "Date"},
            "updatedAt": {"type": "Date"}, "text": {"type": "String"},
            "_rperm": {"type": "Array", "contents": {"type": "String"}},
            "_wperm": {"type": "Array", "contents": {"type": "String"}}}}', true);

        """

    private static let rows = #"""
        INSERT INTO "_User" ("objectId", "createdAt", "updatedAt", "_rperm", "_wperm", "username", "email",
            "_hashed_password", "authData") VALUES
        ('kimkimkim1', '2024-05-06 07:08:09.123Z', '2024-05-06 07:08:09.123Z', '{*,kimkimkim1}', '{kimkimkim1}', 'kim',
            'kim@example.com', '$2b$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu',
            '{"anonymous": null}'),
        ('oldoldold1', '2013-01-01 00:00:00Z', '2013-01-01 00:00:00Z', NULL, NULL, 'lou', NULL,
            '$2a$10$abcdefghijklmnopqrstuu23JPZtHcGhwXSF41f93o/7vBdDut3Xu', NULL);
        INSERT INTO "_Session" ("objectId", "createdAt", "updatedAt", "user", "installationId", "sessionToken",
            "expiresAt", "createdWith") VALUES
        ('session001', '2024-05-06 07:08:09.123Z', '2024-05-06 07:08:09.123Z', 'kimkimkim1', 'phone',
            'r:0123456789abcdef0123456789abcdef', now() + interval '1 year',
            '{"action": "login", "authProvider": "password"}'),
        ('session002', '2014-05-06 07:08:09.123Z', '2014-05-06 07:08:09.123Z', 'kimkimkim1', 'oldphone',
            'r:ffffffffffffffffffffffffffffffff', '2015-05-06 07:08:09.123Z', '{"action": "signup"}');
        INSERT INTO "_Role" ("objectId", "createdAt", "updatedAt", "_rperm", "_wperm", "name") VALUES
        ('role000001', now(), now(), '{*}', '{}', 'Editors'), ('role000002', now(), now(), '{*}', '{}', 'Chiefs');
        INSERT INTO "_Join:users:_Role" VALUES ('kimkimkim1', 'role000002'), ('deletedone', 'role000002');
        INSERT INTO "_Join:roles:_Role" VALUES ('role000002', 'role000001');
        INSERT INTO "Everything" ("objectId", "createdAt", "updatedAt", "_rperm", "_wperm", "s", "n", "b", "d", "o", "l",
            "y", "p", "f", "g", "q") VALUES
        ('everything', '2024-05-06 07:08:09.123Z', '2024-05-06 07:08:09.123Z', '{kimkimkim1}', '{kimkimkim1}', 'text', 1.5,
            true, '2020-02-03T04:05:06.789Z', '{"a": {"__op": "Increment", "amount": 1}, "b": [1, null]}',
            '[1, "two", {"__type": "Pointer", "className": "_User", "objectId": "kimkimkim1"}]',
            '{"__type": "Bytes", "base64": "AQID"}', 'kimkimkim1', 'abc_photo.png', '(13.4, 52.5)',
            '((0,0),(10,0),(10,10),(0,0))'),
        ('nothing000', '2024-05-06 07:08:09.123Z', '2024-05-06 07:08:09.123Z', NULL, NULL, NULL, NULL, NULL, NULL, NULL,
            NULL, NULL, NULL, NULL, NULL, NULL);
        INSERT INTO "_Join:r:Everything" VALUES ('kimkimkim1', 'everything'), ('deletedone', 'everything');
        INSERT INTO "Draft" VALUES ('draft00001', now(), now(), NULL, NULL, 'draft');
        INSERT INTO "_GlobalConfig" VALUES ('1', '{"greeting": "hello", "secret": 1}', '{"secret": true}');
        INSERT INTO "_Hooks" VALUES ('f', NULL, NULL, 'https://old.example'),
            (NULL, 'Draft', 'beforeSave', 'https://example');
        INSERT INTO "_JobSchedule" ("objectId", "createdAt", "updatedAt", "jobName", "params", "startAfter") VALUES
        ('schedule01', now(), now(), 'clean', '{}', '2024-05-06T07:08:09.123Z');

        """#

    /// The functions that parse-server creates at each start, with the signatures that it expects.
    private static let functions = """
        CREATE FUNCTION "json_object_set_key"("json" jsonb, key_to_set text, value_to_set anyelement) RETURNS jsonb
        LANGUAGE sql IMMUTABLE STRICT AS $$
        SELECT concat('{', string_agg(to_json("key") || ':' || "value", ','), '}')::jsonb
        FROM (SELECT * FROM jsonb_each("json") WHERE key <> key_to_set
              UNION ALL SELECT key_to_set, to_json("value_to_set")::jsonb) AS fields $$;
        CREATE FUNCTION "array_add"("array" jsonb, "values" jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE STRICT AS $$
        SELECT array_to_json(ARRAY(SELECT unnest(ARRAY(SELECT DISTINCT jsonb_array_elements("array"))
            || ARRAY(SELECT jsonb_array_elements("values")))))::jsonb $$;
        CREATE FUNCTION "array_contains"("array" jsonb, "values" jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS
        $$ SELECT res.cnt >= 1 FROM (SELECT count(*) AS cnt FROM jsonb_array_elements("array") AS elt
            WHERE elt IN (SELECT jsonb_array_elements("values"))) AS res $$;
        """
}
