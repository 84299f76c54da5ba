"""Nothing here is collected by `make test`; `make test-peers` names its modules itself."""

import os

collect_ignore_glob = [] if "PEER_SUITE" in os.environ else ["*"]
