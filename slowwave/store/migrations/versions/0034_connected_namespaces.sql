-- Whoever serves agents refuses to add memory to a namespace of a connected store, and has to know which those are; what they are called there
-- is none of its business.
GRANT SELECT (namespace_id, store) ON night.store_namespaces TO slowwave_server;
