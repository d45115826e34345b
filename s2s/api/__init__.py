"""The public transforms: what users decorate or wrap their functions with.

Start with `functions.py`: `grad`, `value_and_grad`, `function`, and the callable objects they
return.  The other transforms build on those classes:

- `directional.py`: `jvp`, `vjp`, `hvp`, `stop_gradient`.
- `jacobian_vmap.py`: `jacobian`, `hessian`, `vmap`.
- `custom_derivatives.py`: `custom_gradient`, `implicit`, `defrule`, `checkpoint`, `adjoint`.
- `signature_spec.py`: the type specifications of `f.compile(...)`.
- `numba_overload.py`: calls of these objects inside users' `@njit` code.

This folder may import `inspect`, `dispatch`, `backends`, `call`, `codegen`, `runtime`, `cache`,
`objects`, `errors` and the compiler (`transforms`).
"""
