-- The functions that parse-server installs at each start, with the same behavior, so that it finds a Roost database as
-- it would find its own. Roost doesn't call them.

CREATE OR REPLACE FUNCTION "json_object_set_key"("json" jsonb, key_to_set text, value_to_set anyelement)
RETURNS jsonb LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT "json" || jsonb_build_object(key_to_set, to_jsonb(value_to_set))
$$;

CREATE OR REPLACE FUNCTION "array_add"("array" jsonb, "values" jsonb)
RETURNS jsonb LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT COALESCE((SELECT jsonb_agg(DISTINCT e) FROM jsonb_array_elements("array") AS e), '[]'::jsonb) || "values"
$$;

CREATE OR REPLACE FUNCTION "array_add_unique"("array" jsonb, "values" jsonb)
RETURNS jsonb LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT COALESCE(jsonb_agg(DISTINCT e), '[]'::jsonb) FROM jsonb_array_elements("array" || "values") AS e
$$;

CREATE OR REPLACE FUNCTION "array_remove"("array" jsonb, "values" jsonb)
RETURNS jsonb LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT COALESCE(jsonb_agg(e), '[]'::jsonb) FROM jsonb_array_elements("array") AS e
    WHERE e <> ALL (SELECT jsonb_array_elements("values"))
$$;

CREATE OR REPLACE FUNCTION "array_contains"("array" jsonb, "values" jsonb)
RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT EXISTS (SELECT 1 FROM jsonb_array_elements("array") AS e
                   WHERE e = ANY (SELECT jsonb_array_elements("values")))
$$;

CREATE OR REPLACE FUNCTION "array_contains_all"("array" jsonb, "values" jsonb)
RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT CASE WHEN jsonb_array_length("values") = 0 THEN false ELSE
        (SELECT count(*) FROM jsonb_array_elements_text("array") AS e
         WHERE e = ANY (SELECT jsonb_array_elements_text("values"))) = jsonb_array_length("values") END
$$;

CREATE OR REPLACE FUNCTION "array_contains_all_regex"("array" jsonb, "values" jsonb)
RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT CASE WHEN jsonb_array_length("values") = 0 THEN false ELSE
        (SELECT count(*) FROM jsonb_array_elements_text("array") AS e
         WHERE e LIKE ANY (SELECT jsonb_array_elements_text("values"))) = jsonb_array_length("values") END
$$;
