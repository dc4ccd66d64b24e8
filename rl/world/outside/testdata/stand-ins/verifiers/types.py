from types import SimpleNamespace as Response
from types import SimpleNamespace as ResponseMessage
