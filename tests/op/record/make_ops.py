#!/usr/bin/env python3
"""Records what TensorFlow computes, op by op, in files that a C test reads without Python.

usage: make_ops.py OUT_DIR [MNIST_DIR] [only=NAME,NAME...]

OUT_DIR gets one directory per op (or Python-level function, or training run) with
  index.jsonl  one case per line
  arrays.npy   .npy records (format 1.0, little-endian, C order) one after another;
               "at" in the index is the byte offset of a record's magic string
and ops.txt, the list of the directories. See README.md beside this script for the fields. Without MNIST_DIR the
training runs are left out.
Everything is deterministic: inputs come from seeded generators, one seed per case.
"""
import base64, gzip, io, json, os, sys, zlib
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
os.environ['TF_ENABLE_ONEDNN_OPTS'] = '0'          # plain Eigen kernels: reproducible rounding
os.environ.setdefault('TF_USE_LEGACY_KERAS', '1')  # rnn cells and layers, if tf-keras is there
os.environ['CUDA_VISIBLE_DEVICES'] = ''
import numpy as np
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)
raw = tf.raw_ops
BF16 = tf.bfloat16.as_numpy_dtype
F32, F64, F16, I32, I64, BOOL = np.float32, np.float64, np.float16, np.int32, np.int64, np.bool_
FLOATS = [F32, F64, F16, BF16]
REALS = FLOATS + [I32, I64]
ALL = REALS + [BOOL]
NAN, INF = np.nan, np.inf
only = None
skipped = {}   # op -> input types for which it has no kernel or that its definition forbids


def config():
    c = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    c.graph_options.rewrite_options.disable_meta_optimizer = True
    c.graph_options.optimizer_options.opt_level = -1
    return c


def name_of(dt):
    return tf.as_dtype(dt).base_dtype.name


class Dir:
    """One output directory: appends cases to index.jsonl and arrays to arrays.npy."""
    open_dirs = {}
    root = None

    @classmethod
    def get(cls, name):
        if name not in cls.open_dirs:
            cls.open_dirs[name] = cls(name)
        return cls.open_dirs[name]

    def __init__(self, name):
        self.name, self.n = name, 0
        path = os.path.join(self.root, name)
        os.makedirs(path, exist_ok=True)
        self.index = open(os.path.join(path, 'index.jsonl'), 'w')
        self.data = open(os.path.join(path, 'arrays.npy'), 'wb')
        self.seen = {}

    def put(self, a):
        if isinstance(a, tf.SparseTensorValue):
            raise TypeError('sparse')
        a = np.asarray(a)
        if a.dtype.kind in 'OSU':
            flat = [x if isinstance(x, bytes) else str(x).encode() for x in a.ravel().tolist()]
            return {'dtype': 'string', 'shape': list(a.shape), 'hex': [x.hex() for x in flat]}
        d = {'dtype': name_of(a.dtype), 'shape': list(a.shape)}
        b = np.ascontiguousarray(a).reshape(a.shape)
        if b.dtype == BF16:
            b = b.view(np.uint16)
        assert b.dtype.byteorder in '<=|'
        buf = io.BytesIO()
        np.lib.format.write_array(buf, b, version=(1, 0))
        raw_bytes = buf.getvalue()
        key = (raw_bytes, d['dtype'])
        if key not in self.seen:
            self.seen[key] = self.data.tell()
            self.data.write(raw_bytes)
        d['at'] = self.seen[key]
        return d

    def case(self, rec):
        rec = dict({'case': self.n}, **rec)
        self.n += 1
        self.index.write(json.dumps(rec, separators=(',', ':')) + '\n')


def rng(*key):
    return np.random.RandomState(zlib.crc32(repr(key).encode()) & 0x7fffffff)


def rand(r, shape, dt, lo=-2.0, hi=2.0):
    dt = np.dtype(dt)
    if dt == np.bool_:
        return np.asarray(r.rand(*shape) < 0.5)
    if dt.kind in 'iu':
        return np.asarray(r.randint(int(lo) if lo > -2 else -9, max(int(hi), 10), shape)).astype(dt)
    return np.asarray(lo + (hi - lo) * np.asarray(r.rand(*shape))).astype(dt)


def tol_for(dts, grad=False):
    t = {'float32': 2e-6, 'float64': 1e-13, 'float16': 2e-3, 'bfloat16': 1.6e-2}
    m = max([t.get(d, 0) for d in dts] + [0])
    return {'rtol': m, 'atol': m} if m else {'exact': True}


def attr_json(op):
    out = {}
    for k in sorted(op.node_def.attr):
        if k.startswith('_'):
            continue
        v = op.get_attr(k)
        if isinstance(v, bytes):
            v = v.decode('latin1')
        elif isinstance(v, tf.DType):
            v = v.base_dtype.name
        elif hasattr(v, 'as_list') or v.__class__.__name__ == 'TensorShapeProto':
            s = tf.TensorShape(v)
            v = None if s.rank is None else [-1 if x is None else x for x in s.as_list()]
        elif isinstance(v, list):
            v = [x.base_dtype.name if isinstance(x, tf.DType) else x.decode('latin1') if isinstance(x, bytes)
                 else x if isinstance(x, (int, float, bool, str)) else
                 [-1 if q is None else q for q in tf.TensorShape(x).as_list()] for x in v]
        elif not isinstance(v, (int, float, bool, str)):
            continue
        out[k] = v
    return out


def is_float(dt):
    return tf.as_dtype(dt).is_floating


def want(name):
    return only is None or name in only


def err_json(e):
    return {'type': type(e).__name__,
            'code': getattr(e, 'error_code', None),
            'message': [l for l in str(getattr(e, 'message', e)).split('\n')
                        if l and not l.startswith((' ', '\t', 'Detected', 'Graph exec', 'Node:', 'Original'))][:2]}


def run_case(dirname, build, arrays, grad=True, tol=None, note=None, runs=1, expect_error=False, optype=None,
             extra=None, gtol=None):
    """arrays: flat list of np arrays; build(list of tensors) -> (outputs, op or None)."""
    if not want(dirname):
        return
    rec = {'op': optype or dirname}
    try:
        with tf.Graph().as_default(), tf.Session(config=config()) as s:
            feeds, ins = {}, []
            for a in arrays:
                a = np.asarray(a)
                if a.dtype.kind in 'OSU' or is_float(a.dtype) or a.dtype.kind == 'c':
                    p = tf.placeholder(tf.as_dtype(a.dtype) if a.dtype.kind not in 'OSU' else tf.string, a.shape)
                    feeds[p] = a
                else:
                    p = tf.constant(a)
                ins.append(p)
            outs, op = build(ins)
            outs = [o for o in outs]
            if op is not None:
                rec['attrs'] = attr_json(op)
                rec['op'] = op.type
            d = Dir.get(dirname)
            rec['inputs'] = [d.put(a) for a in arrays]
            try:
                got = [s.run(outs, feeds) for _ in range(runs)]
            except tf.errors.OpError as e:
                if 'No OpKernel' in str(e) or 'unsupported type' in str(e):
                    skipped.setdefault(dirname, []).append([name_of(a.dtype) if np.asarray(a).dtype.kind not in 'OSU' else 'string' for a in arrays])
                    return 'nokernel'
                rec['error'] = err_json(e)
                if not expect_error:
                    rec['unexpected'] = True
                d.case(rec)
                return
            rec['outputs'] = [d.put(a) for a in got[0]]
            if runs > 1:
                rec['more_runs'] = [[d.put(a) for a in g] for g in got[1:]]
            rec['tol'] = tol or tol_for([o.dtype.base_dtype.name for o in outs])
            if grad:
                ys = [(i, o) for i, o in enumerate(outs) if is_float(o.dtype)]
                xs = [p for p in ins if is_float(p.dtype)]
                if ys and xs:
                    try:
                        r = rng(dirname, d.n, 'dy')
                        dy_np = {i: rand(r, got[0][i].shape, got[0][i].dtype, -1, 1) for i, o in ys}
                        dys = [tf.constant(dy_np[i]) for i, o in ys]
                        gs = tf.gradients([o for _, o in ys], xs, grad_ys=dys)
                        gs = [None if g is None else tf.convert_to_tensor(g) for g in gs]
                        gv = s.run([g for g in gs if g is not None], feeds)
                        it = iter(gv)
                        byx = {id(x): (None if g is None else next(it)) for x, g in zip(xs, gs)}
                        rec['dy'] = [d.put(dy_np[i]) if i in dy_np else None for i in range(len(outs))]
                        rec['dx'] = [d.put(byx[id(p)]) if byx.get(id(p)) is not None else None for p in ins]
                        rec['dx_tol'] = gtol or tol or tol_for([o.dtype.base_dtype.name for o in outs])
                    except (LookupError, NotImplementedError, TypeError, ValueError) as e:
                        rec['no_gradient'] = type(e).__name__
                    except tf.errors.OpError as e:
                        rec['no_gradient'] = err_json(e)['message'][:1]
            if note:
                rec['note'] = note
            if extra:
                rec.update(extra)
            d.case(rec)
    except (TypeError, ValueError) as e:
        m = str(e)
        if expect_error:
            d = Dir.get(dirname)
            rec['inputs'] = [d.put(a) for a in arrays]
            rec['error'] = dict(err_json(e), at='graph construction')
            if extra:
                rec.update(extra)
            d.case(rec)
        elif 'not in list of allowed' in m or 'has DataType' in m or 'Value passed to parameter' in m or 'does not match expected type' in m or "isn't in the list" in m or 'type' in m and 'allowed' in m:
            skipped.setdefault(dirname, []).append([name_of(a.dtype) if a.dtype.kind not in 'OSU' else 'string' for a in map(np.asarray, arrays)])
            return 'notype'
        else:
            print('?? build', dirname, [np.asarray(a).dtype for a in arrays], m[:200], file=sys.stderr)


def op(opname, _attrs=None, _dir=None, _grad=True, _tol=None, _note=None, _runs=1, _err=False, _gtol=None, **inputs):
    """inputs: name -> array or list of arrays, in the op's input order (raw_ops keywords)."""
    flat, layout = [], []
    for k, v in inputs.items():
        if isinstance(v, list) and v and isinstance(v[0], np.ndarray):
            layout.append((k, len(v)))
            flat += v
        else:
            layout.append((k, 0))
            flat.append(np.asarray(v))

    def build(ts):
        it, kw = iter(ts), {}
        for k, n in layout:
            kw[k] = [next(it) for _ in range(n)] if n else next(it)
        kw.update(_attrs or {})
        g = tf.get_default_graph()
        r = getattr(raw, opname)(**kw)
        node = [o for o in g.get_operations() if o.type == opname][-1]
        return node.outputs, node
    return run_case(_dir or opname, build, flat, _grad, _tol, _note, _runs, _err, gtol=_gtol)


def fn(name, f, *arrays, **kw):
    """A Python-level function: op is 'py:<name>', its parameters stand in 'params'."""
    params = kw.pop('params', {})
    def build(ts):
        r = f(*ts)
        return (list(r) if isinstance(r, (list, tuple)) else [r]), None
    return run_case(name, build, [np.asarray(a) for a in arrays], optype='py:' + name,
                    extra={'params': params}, **kw)


A = lambda *v, dt=F32: np.array(v, dt)
i32 = lambda *v: np.array(v, I32)
SPECIAL = A(0., -0., 1., -1., INF, -INF, NAN, 1e-45, -1e-45, 1.1754942e-38, 3.4028235e38, -3.4028235e38, 0.5, -0.5, 1.5, 2.5, -1.5, 88.8, -104.)


def unary():
    dom = {'Sqrt': (0.01, 4), 'Rsqrt': (0.1, 4), 'Log': (0.05, 4), 'Log1p': (-0.9, 4), 'Asin': (-.95, .95), 'Acos': (-.95, .95),
           'Atanh': (-.95, .95), 'Acosh': (1.05, 4), 'Lgamma': (0.1, 4), 'Digamma': (0.1, 4), 'Reciprocal': (0.3, 3), 'Inv': (0.3, 3), 'Tan': (-1.4, 1.4)}
    exact = {'Abs', 'Neg', 'Sign', 'Relu', 'Relu6', 'Floor', 'Ceil', 'Round', 'Rint', 'ZerosLike', 'OnesLike', 'Identity', 'StopGradient', 'PreventGradient', 'Snapshot'}
    for o in ['Abs', 'Neg', 'Sign', 'Square', 'Sqrt', 'Rsqrt', 'Exp', 'Expm1', 'Log', 'Log1p', 'Sin', 'Cos', 'Tan', 'Asin', 'Acos', 'Atan',
              'Sinh', 'Cosh', 'Tanh', 'Asinh', 'Acosh', 'Atanh', 'Sigmoid', 'Softplus', 'Softsign', 'Relu', 'Relu6', 'Elu', 'Selu', 'LeakyRelu',
              'Floor', 'Ceil', 'Round', 'Rint', 'Reciprocal', 'Inv', 'Erf', 'Erfc', 'Lgamma', 'Digamma', 'IsNan', 'IsInf', 'IsFinite',
              'LogicalNot', 'Invert', 'ZerosLike', 'OnesLike', 'Identity', 'StopGradient', 'PreventGradient', 'L2Loss']:
        key = {'Relu': 'features', 'Relu6': 'features', 'Elu': 'features', 'Selu': 'features', 'LeakyRelu': 'features', 'Softplus': 'features',
               'Softsign': 'features', 'Identity': 'input', 'StopGradient': 'input', 'PreventGradient': 'input', 'L2Loss': 't'}.get(o, 'x')
        lo, hi = dom.get(o, (-2, 2))
        tol = {'exact': True} if o in exact else None
        for dt in ALL:
            r = rng(o, str(dt))
            op(o, **{key: rand(r, (2, 3), dt, lo, hi)}, _tol=tol)
        op(o, **{key: rand(rng(o), (37,), F32, lo, hi)}, _tol=tol)
        if o not in ('LogicalNot', 'Invert'):
            op(o, **{key: SPECIAL}, _tol=tol, _note='special values; a NaN equals any NaN')
            op(o, **{key: np.zeros((0, 3), F32)})
        if o in ('Relu', 'Tanh', 'Exp'):
            op(o, **{key: np.asarray(F32(0.7))})
    for o, a in [('SigmoidGrad', ('y', 'dy')), ('TanhGrad', ('y', 'dy')), ('ReluGrad', ('gradients', 'features')), ('Relu6Grad', ('gradients', 'features')),
                 ('EluGrad', ('gradients', 'outputs')), ('SeluGrad', ('gradients', 'outputs')), ('LeakyReluGrad', ('gradients', 'features')),
                 ('SoftplusGrad', ('gradients', 'features')), ('SoftsignGrad', ('gradients', 'features')), ('SqrtGrad', ('y', 'dy')), ('RsqrtGrad', ('y', 'dy')),
                 ('ReciprocalGrad', ('y', 'dy')), ('InvGrad', ('y', 'dy'))]:
        for dt in [F32, F64, F16]:
            r = rng(o, str(dt))
            op(o, **{a[0]: rand(r, (3, 4), dt, .2, 1.8), a[1]: rand(r, (3, 4), dt)})
        if o in ('ReluGrad', 'Relu6Grad', 'EluGrad'):
            op(o, **{a[0]: np.ones(19, F32), a[1]: SPECIAL})


def binary():
    shapes = [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1, 3), (4, 1)), ((), (2, 3)), ((0, 3), (3,)), ((2, 3), (2, 1))]
    pos = {'Pow', 'Xlogy', 'Xdivy', 'Atan2'}
    nz = {'Div', 'RealDiv', 'FloorDiv', 'TruncateDiv', 'FloorMod', 'Mod', 'DivNoNan'}
    cmpo = ['Greater', 'GreaterEqual', 'Less', 'LessEqual', 'Equal', 'NotEqual']
    sp = A(0., -0., 1., -1., INF, -INF, NAN, 2., .5, -3.)
    sa, sb = [x.ravel() for x in np.meshgrid(sp, sp)]
    for o in ['Add', 'AddV2', 'Sub', 'Mul', 'Div', 'RealDiv', 'FloorDiv', 'TruncateDiv', 'FloorMod', 'Mod', 'Pow', 'Maximum', 'Minimum',
              'SquaredDifference', 'Atan2', 'DivNoNan', 'MulNoNan', 'Xdivy', 'Xlogy'] + cmpo + ['LogicalAnd', 'LogicalOr', 'BitwiseAnd', 'BitwiseOr', 'BitwiseXor', 'LeftShift', 'RightShift']:
        ks = ('y', 'x') if o == 'Atan2' else ('x', 'y')
        for dt in ALL:
            for n, (p, q) in enumerate(shapes):
                if dt != F32 and n not in (1, 2):
                    continue
                r = rng(o, str(dt), n)
                integer = np.dtype(dt).kind == 'i'
                x = rand(r, p, dt, *((.2, 2.5) if o in pos else (-2, 2)))
                y = rand(r, q, dt, *((.2, 2.5) if o in pos or (o in nz and not integer) else (-2, 2)))
                if o in nz and integer:
                    y = np.where(y == 0, np.array(3, dt), y)
                if o in ('LeftShift', 'RightShift'):
                    y = np.abs(y) % 7 if np.dtype(dt).kind == 'i' else y
                if o == 'Pow' and integer:
                    x, y = np.abs(x) % 5, np.abs(y) % 4
                if o in cmpo and np.size(y) and np.size(x):
                    y.flat[0] = x.flat[0]
                op(o, **{ks[0]: x, ks[1]: y})
        if o not in ('LogicalAnd', 'LogicalOr', 'BitwiseAnd', 'BitwiseOr', 'BitwiseXor', 'LeftShift', 'RightShift'):
            op(o, **{ks[0]: sa, ks[1]: sb}, _note='special values crossed; a NaN equals any NaN')
            op(o, **{ks[0]: i32(-7, 7, -7, 7, 6, -6, 0), ks[1]: i32(2, 2, -2, -2, 3, 3, 5)} if o != 'Pow' else {'x': i32(2, -2, 0, 3), 'y': i32(3, 3, 0, 2)})
    for o in ('FloorDiv', 'TruncateDiv', 'FloorMod', 'Mod', 'Div'):
        op(o, x=i32(1, 2), y=i32(1, 0), _err=True, _grad=False)
    op('Pow', x=i32(2), y=i32(-1), _err=True, _grad=False)
    op('AddV2', x=np.ones((2, 3), F32), y=np.ones((4,), F32), _err=True)
    for dt in [F32, F64, F16, BF16, I32]:
        r = rng('AddN', str(dt))
        op('AddN', inputs=[rand(r, (2, 3), dt) for _ in range(3)])
        op('AccumulateNV2', {'shape': [2, 3]}, inputs=[rand(r, (2, 3), dt) for _ in range(2)], _grad=False)
    op('AddN', inputs=[rand(rng(9, k), (5,), F32) for k in range(17)], _note='sum of 17 in input order')
    op('ClipByValue', t=SPECIAL, clip_value_min=F32(-1), clip_value_max=F32(2))
    fn('clip_by_value', lambda x: tf.clip_by_value(x, 1e-10, 1.0), A(-1, 1e-10, .5, 1, 2, 1e-11, NAN), params={'min': 1e-10, 'max': 1.0})
    fn('clip_by_norm', lambda x: tf.clip_by_norm(x, 2.5), A(3, 4), params={'clip_norm': 2.5})
    fn('clip_by_norm', lambda x: tf.clip_by_norm(x, 10.), A(3, 4), params={'clip_norm': 10.0})
    fn('clip_by_norm', lambda x: tf.clip_by_norm(x, 1., axes=[1]), rand(rng(1), (3, 4), F32), params={'clip_norm': 1.0, 'axes': [1]})
    fn('clip_by_global_norm', lambda x, y: (lambda r: [r[0][0], r[0][1], r[1]])(tf.clip_by_global_norm([x, y], 1.)), A(3, 4), A(12), params={'clip_norm': 1.0}, grad=False)
    fn('clip_by_global_norm', lambda x, y: (lambda r: [r[0][0], r[0][1], r[1]])(tf.clip_by_global_norm([x, y], 50.)), A(3, 4), A(12), params={'clip_norm': 50.0}, grad=False)
    fn('clip_by_global_norm', lambda x, y: (lambda r: [r[0][0], r[0][1], r[1]])(tf.clip_by_global_norm([x, y], 1.)), A(INF, 4), A(12), params={'clip_norm': 1.0}, grad=False)
    fn('clip_by_average_norm', lambda x: tf.clip_by_average_norm(x, 1.), A(3, 4, 5), params={'clip_norm': 1.0})
    fn('l2_normalize', lambda x: tf.nn.l2_normalize(x, 1), rand(rng(2), (3, 4), F32), params={'axis': 1, 'epsilon': 1e-12})
    fn('moments', lambda x: tf.nn.moments(x, [0]), rand(rng(3), (5, 4), F32), params={'axes': [0]})
    fn('moments', lambda x: tf.nn.moments(x, [0, 1, 2]), rand(rng(3), (2, 3, 2, 4), F32), params={'axes': [0, 1, 2]})


def reductions():
    x = {dt: rand(rng('red', str(dt)), (2, 3, 4), dt, .3, 1.7) for dt in ALL}
    axes = [[], [0], [1], [2], [-1], [0, 2], [2, 0], [-2, -1], [0, 1, 2]]
    for o in ['Sum', 'Mean', 'Prod', 'Max', 'Min', 'EuclideanNorm', 'All', 'Any']:
        for dt in ALL:
            if o in ('All', 'Any') and dt != BOOL:
                continue
            key = dict(input=x[dt])
            for a in (axes if dt in (F32, BOOL) else [[1], [0, 2], [0, 1, 2]]):
                for keep in (False, True):
                    if keep and dt != F32:
                        continue
                    op(o, {'keep_dims': keep}, **key, axis=np.array(a, I32))
            op(o, {'keep_dims': False}, **key, axis=np.asarray(I64(1)), _note='scalar int64 axis')
        e = np.zeros((0, 3), BOOL if o in ('All', 'Any') else F32)
        op(o, {'keep_dims': False}, input=e, axis=i32(0), _note='empty')
        op(o, {'keep_dims': False}, input=e, axis=i32(1), _note='empty')
        op(o, {'keep_dims': False}, input=x[BOOL if o in ('All', 'Any') else F32], axis=i32(3), _err=True)
        op(o, {'keep_dims': False}, input=x[BOOL if o in ('All', 'Any') else F32], axis=i32(1, 1), _err=True)
    s = A(1, NAN, 2, INF, -INF).reshape(1, 5)
    for o in ['Sum', 'Mean', 'Prod', 'Max', 'Min']:
        op(o, {'keep_dims': False}, input=s, axis=i32(1)); op(o, {'keep_dims': False}, input=A(1, 5, 5, 2, 3, 3, 3, 3).reshape(2, 4), axis=i32(1), _note='ties share the gradient equally in Max/Min')
        op(o, {'keep_dims': False}, input=rand(rng(o, 'big'), (3, 101), F32), axis=i32(1)); op(o, {'keep_dims': False}, input=rand(rng(o, 'big'), (101, 3), F32), axis=i32(0))
    op('Prod', {'keep_dims': False}, input=A(2, 0, 3, 0, 0, 1, 4, 5, 6).reshape(3, 3), axis=i32(1), _note='gradient with zeros')
    op('Mean', {'keep_dims': False}, input=i32(1, 2, 4, -1, -2, -4).reshape(2, 3), axis=i32(1), _note='integer mean truncates')
    for o in ['ArgMax', 'ArgMin']:
        for dt in REALS:
            for a in ([0, 1, -1] if dt == F32 else [1]):
                for ot in (tf.int64, tf.int32):
                    op(o, {'output_type': ot}, input=rand(rng(o, str(dt)), (3, 4), dt), dimension=np.asarray(I32(a)))
        op(o, {'output_type': tf.int64}, input=A(1, 3, 3, 0, 0, 3).reshape(1, 6), dimension=np.asarray(I32(1)), _note='first of equals')
        op(o, {'output_type': tf.int64}, input=A(NAN, 1, 2, 1, NAN, 2, NAN, NAN, NAN).reshape(3, 3), dimension=np.asarray(I32(1)))
    for o in ['Cumsum', 'Cumprod']:
        for ex in (False, True):
            for rev in (False, True):
                for a in (0, 1, -1):
                    op(o, {'exclusive': ex, 'reverse': rev}, x=rand(rng(o), (3, 4), F32, .4, 1.5), axis=np.asarray(I32(a)))
        op(o, {}, x=rand(rng(o), (5,), I32), axis=np.asarray(I32(0)))
    for o, dts in [('LogSoftmax', FLOATS), ('Softmax', FLOATS)]:
        for dt in dts:
            op(o, logits=rand(rng(o, str(dt)), (3, 5), dt))
        op(o, logits=A(1000, 0, -1000, 1, 1, 1, INF, 1, 2, -INF, 1, 2, NAN, 1, 2).reshape(5, 3))
        op(o, logits=rand(rng(o, 'r4'), (2, 2, 1, 3), F32)); op(o, logits=rand(rng(o, 'r1'), (4,), F32)); op(o, logits=rand(rng(o, 'w'), (4, 37), F32, -5, 5))
        op(o, logits=np.zeros((0, 3), F32)); op(o, logits=np.zeros((2, 0), F32))


def matmul():
    for dt in [F32, F64, F16, BF16, I32, I64]:
        for ta in (False, True):
            for tb in (False, True):
                r = rng('mm', str(dt), ta, tb)
                a = rand(r, (5, 3) if ta else (3, 5), dt); b = rand(r, (4, 5) if tb else (5, 4), dt)
                op('MatMul', {'transpose_a': ta, 'transpose_b': tb}, a=a, b=b)
                if dt in (F32, F64):
                    a = rand(r, (2, 5, 3) if ta else (2, 3, 5), dt); b = rand(r, (2, 4, 5) if tb else (2, 5, 4), dt)
                    op('BatchMatMulV2', {'adj_x': ta, 'adj_y': tb}, x=a, y=b)
                    op('BatchMatMul', {'adj_x': ta, 'adj_y': tb}, x=a, y=b)
    r = rng('mm2')
    op('MatMul', {}, a=rand(r, (1, 7), F32), b=rand(r, (7, 1), F32)); op('MatMul', {}, a=np.zeros((0, 3), F32), b=np.ones((3, 2), F32)); op('MatMul', {}, a=np.zeros((2, 0), F32), b=np.zeros((0, 3), F32))
    op('MatMul', {}, a=rand(r, (17, 33), F32), b=rand(r, (33, 9), F32), _tol={'rtol': 1e-5, 'atol': 1e-5})
    op('MatMul', {}, a=np.ones((2, 3), F32), b=np.ones((2, 3), F32), _err=True)
    op('BatchMatMulV2', {}, x=rand(r, (2, 1, 2, 3), F32), y=rand(r, (4, 3, 2), F32), _note='batch dimensions broadcast')
    op('BatchMatMulV2', {}, x=rand(r, (2, 3), F32), y=rand(r, (4, 3, 2), F32))
    for dt in [F32, F64, F16, BF16, I32]:
        op('BiasAdd', {}, value=rand(r, (2, 3), dt), bias=rand(r, (3,), dt))
        op('BiasAdd', {}, value=rand(r, (2, 2, 2, 3), dt), bias=rand(r, (3,), dt))
        op('BiasAdd', {'data_format': 'NCHW'}, value=rand(r, (2, 3, 2, 2), dt), bias=rand(r, (3,), dt))
        op('BiasAddGrad', {}, out_backprop=rand(r, (2, 2, 2, 3), dt)); op('BiasAddGrad', {'data_format': 'NCHW'}, out_backprop=rand(r, (2, 3, 2, 2), dt))
    op('BiasAdd', {}, value=np.ones((2, 3), F32), bias=np.ones((2,), F32), _err=True)
    fn('xw_plus_b', tf.nn.xw_plus_b, rand(r, (3, 4), F32), rand(r, (4, 2), F32), rand(r, (2,), F32))


def conv():
    T = {'rtol': 1e-5, 'atol': 1e-5}
    k = 0
    for (ish, fsh) in [((1, 5, 5, 1), (3, 3, 1, 2)), ((2, 6, 7, 2), (2, 3, 2, 3)), ((1, 7, 5, 3), (5, 5, 3, 2)), ((1, 4, 4, 2), (1, 1, 2, 3))]:
        for st in [(1, 1), (2, 2), (1, 2), (3, 3)]:
            for pad in ['SAME', 'VALID']:
                for dil in [(1, 1), (2, 2), (1, 2)]:
                    if dil != (1, 1) and (st != (1, 1) or fsh[0] == 5):
                        continue
                    k += 1
                    r = rng('conv', k)
                    x, f = rand(r, ish, F32), rand(r, fsh, F32, -1, 1)
                    if dil == (1, 1):
                        op('Conv2D', {'strides': [1, 1 * st[0], st[1], 1], 'padding': pad, 'dilations': [1, 1, 1, 1]}, input=x, filter=f, _tol=T)
                        continue
                    # CPU kernels have no gradient for dilations: take it through the filter spread out with zeros.
                    idx = np.array([[i * dil[0], j * dil[1]] for i in range(fsh[0]) for j in range(fsh[1])], I32)
                    big = [(fsh[0] - 1) * dil[0] + 1, (fsh[1] - 1) * dil[1] + 1, *fsh[2:]]
                    run_case('Conv2D', lambda t: ([tf.nn.conv2d(t[0], tf.scatter_nd(idx, tf.reshape(t[1], [-1, *fsh[2:]]), big), [1, 1, 1, 1], pad)], None), [x, f], tol=T,
                             extra={'attrs': {'T': 'float32', 'data_format': 'NHWC', 'dilations': [1, *dil, 1], 'explicit_paddings': [], 'padding': pad, 'strides': [1, 1, 1, 1], 'use_cudnn_on_gpu': True}},
                             note='computed with the filter spread out by zeros')
    r = rng('convx')
    x, f = rand(r, (1, 5, 5, 2), F32), rand(r, (3, 3, 2, 2), F32)
    op('Conv2D', {'strides': [1, 2, 1, 1], 'padding': 'EXPLICIT', 'explicit_paddings': [0, 0, 2, 1, 0, 3, 0, 0]}, input=x, filter=f, _tol=T)
    op('Conv2D', {'strides': [1, 1, 1, 1], 'padding': 'VALID'}, input=rand(r, (1, 2, 2, 2), F32), filter=f, _err=True)
    op('Conv2D', {'strides': [1, 1, 1, 1], 'padding': 'SAME'}, input=np.zeros((0, 4, 4, 2), F32), filter=f, _tol=T)
    op('Conv2D', {'strides': [1, 1, 1, 1], 'padding': 'SAME'}, input=rand(r, (1, 5, 5, 4), F32), filter=f, _tol=T, _note='grouped: input channels 4, filter depth 2', _grad=False)
    for dt in (F64, F16):
        op('Conv2D', {'strides': [1, 2, 2, 1], 'padding': 'SAME'}, input=x.astype(dt), filter=f.astype(dt), _tol={'rtol': 5e-3, 'atol': 5e-3} if dt == F16 else None)
    for (ish, fsh, osh, st, pad) in [((2, 6, 7, 2), (3, 3, 2, 3), (2, 3, 4, 3), (2, 2), 'SAME'), ((2, 6, 7, 2), (3, 2, 2, 3), (2, 4, 6, 3), (1, 1), 'VALID'), ((1, 7, 7, 1), (3, 3, 1, 2), (1, 3, 3, 2), (2, 2), 'VALID'), ((1, 8, 8, 1), (3, 3, 1, 2), (1, 3, 3, 2), (2, 2), 'VALID')]:
        x, f, g = rand(r, ish, F32), rand(r, fsh, F32), rand(r, osh, F32)
        a = {'strides': [1, *st, 1], 'padding': pad}
        op('Conv2DBackpropInput', a, input_sizes=i32(*ish), filter=f, out_backprop=g, _tol=T)
        op('Conv2DBackpropFilter', a, input=x, filter_sizes=i32(*fsh), out_backprop=g, _tol=T)
    for (ish, fsh) in [((1, 5, 5, 2), (3, 3, 2, 2)), ((2, 6, 4, 3), (2, 3, 3, 1))]:
        for st in [(1, 1), (2, 2)]:
            for pad in ['SAME', 'VALID']:
                op('DepthwiseConv2dNative', {'strides': [1, *st, 1], 'padding': pad}, input=rand(r, ish, F32), filter=rand(r, fsh, F32), _tol=T)
    fn('depthwise_conv2d', lambda x, f: tf.nn.depthwise_conv2d(x, f, [1, 1, 1, 1], 'SAME', rate=[2, 2]), rand(r, (1, 7, 7, 2), F32), rand(r, (3, 3, 2, 1), F32), params={'strides': [1, 1, 1, 1], 'padding': 'SAME', 'rate': [2, 2]}, tol=T)
    fn('separable_conv2d', lambda x, d, p: tf.nn.separable_conv2d(x, d, p, [1, 1, 1, 1], 'SAME'), rand(r, (1, 5, 5, 2), F32), rand(r, (3, 3, 2, 2), F32), rand(r, (1, 1, 4, 3), F32), params={'strides': [1, 1, 1, 1], 'padding': 'SAME'}, tol=T)
    fn('conv2d_transpose', lambda x, f: tf.nn.conv2d_transpose(x, f, [1, 6, 6, 2], [1, 2, 2, 1], 'SAME'), rand(r, (1, 3, 3, 3), F32), rand(r, (3, 3, 2, 3), F32), params={'output_shape': [1, 6, 6, 2], 'strides': [1, 2, 2, 1], 'padding': 'SAME'}, tol=T)
    for o in ['MaxPool', 'AvgPool', 'MaxPoolWithArgmax']:
        for ks in [(2, 2), (3, 3), (2, 3)]:
            for st in [(1, 1), (2, 2), (3, 2)]:
                for pad in ['SAME', 'VALID']:
                    x = rand(rng(o, ks, st, pad), (2, 5, 6, 2), F32)
                    op(o, {'ksize': [1, *ks, 1], 'strides': [1, *st, 1], 'padding': pad}, **{'value' if o == 'AvgPool' else 'input': x})
        t = np.round(rand(rng(o, 'ties'), (1, 4, 4, 1), F32, 0, 2))
        op(o, {'ksize': [1, 2, 2, 1], 'strides': [1, 2, 2, 1], 'padding': 'VALID'}, **{'value' if o == 'AvgPool' else 'input': t}, _note='ties: the first in row, column order')
        op(o, {'ksize': [1, 3, 3, 1], 'strides': [1, 1, 1, 1], 'padding': 'SAME'}, **{'value' if o == 'AvgPool' else 'input': t}, _note='ties, overlapping windows')
        op(o, {'ksize': [1, 2, 2, 1], 'strides': [1, 2, 2, 1], 'padding': 'SAME'}, **{'value' if o == 'AvgPool' else 'input': A(1, NAN, 2, 3, -5, -6, -7, -8, -9).reshape(1, 3, 3, 1)})
        for dt in (F64, F16, BF16):
            op(o, {'ksize': [1, 2, 2, 1], 'strides': [1, 2, 2, 1], 'padding': 'VALID'}, **{'value' if o == 'AvgPool' else 'input': rand(rng(o, str(dt)), (1, 4, 4, 2), dt)})
    x = rand(rng('mpg'), (1, 4, 4, 2), F32)
    y = x.reshape(1, 2, 2, 2, 2, 2).max((2, 4))
    op('MaxPoolGrad', {'ksize': [1, 2, 2, 1], 'strides': [1, 2, 2, 1], 'padding': 'VALID'}, orig_input=x, orig_output=y, grad=rand(rng(1), (1, 2, 2, 2), F32), _grad=False)
    op('AvgPoolGrad', {'ksize': [1, 2, 2, 1], 'strides': [1, 2, 2, 1], 'padding': 'SAME'}, orig_input_shape=i32(1, 3, 3, 2), grad=rand(rng(1), (1, 2, 2, 2), F32))
    for kw in [{}, {'depth_radius': 2, 'bias': 2., 'alpha': 1e-1, 'beta': .75}, {'depth_radius': 1, 'bias': 1., 'alpha': 1., 'beta': .5}, {'depth_radius': 0, 'bias': 1., 'alpha': .3, 'beta': 1.}]:
        op('LRN', kw, input=rand(rng('lrn'), (1, 2, 2, 7), F32), _tol=T)


def norm():
    T = {'rtol': 2e-5, 'atol': 2e-5}
    for sh in [(2, 3, 3, 2), (4, 1, 1, 3), (1, 2, 2, 1), (1, 1, 1, 2)]:
        for eps in (1e-3, 1.001e-5, 1e-1):
            r = rng('bn', sh, eps)
            c = sh[-1]
            x, s, b, m, v = rand(r, sh, F32), rand(r, (c,), F32, .5, 1.5), rand(r, (c,), F32), rand(r, (c,), F32), rand(r, (c,), F32, .5, 2)
            for o in ['FusedBatchNorm', 'FusedBatchNormV3']:
                if o == 'FusedBatchNorm' and eps != 1e-3:
                    continue
                op(o, {'epsilon': eps, 'is_training': True}, x=x, scale=s, offset=b, mean=np.zeros(0, F32), variance=np.zeros(0, F32), _tol=T, _grad=False, _note='outputs 3,4: batch mean and biased variance; 5 (V3): unused')
                run_case(o, lambda t, o=o, eps=eps: (lambda y: (list(y)[:3], y[0].op))(getattr(raw, o)(x=t[0], scale=t[1], offset=t[2], mean=t[3], variance=t[4], epsilon=eps, is_training=False)),
                         [x, s, b, m, v], tol=T, grad=False, note='inference: outputs 0..2; the reserve outputs are uninitialised memory')
                def build(ts, o=o, tr=True, eps=eps):
                    x, s, b = ts[:3]
                    mv = ts[3:] if not tr else [tf.zeros([0]), tf.zeros([0])]
                    y = getattr(raw, o)(x=x, scale=s, offset=b, mean=mv[0], variance=mv[1], epsilon=eps, is_training=tr)
                    return [y[0]], y[0].op
                run_case(o, build, [x, s, b], tol=T, gtol={'rtol': 1e-4, 'atol': 1e-4}, note='training, output 0 only, with gradients; inputs mean and variance are empty')
                run_case(o, lambda ts, o=o, eps=eps, b2=build: b2(ts, o, False, eps), [x, s, b, m, v], tol=T, gtol={'rtol': 1e-4, 'atol': 1e-4}, note='inference, output 0 only, with gradients')
    r = rng('bng')
    x, dy = rand(r, (2, 2, 2, 3), F32), rand(r, (2, 2, 2, 3), F32)
    op('FusedBatchNormGradV3', {'epsilon': 1e-3, 'is_training': True}, y_backprop=dy, x=x, scale=rand(r, (3,), F32, .5, 1.5), reserve_space_1=x.mean((0, 1, 2)), reserve_space_2=x.var((0, 1, 2)), reserve_space_3=np.zeros(0, F32), _tol={'rtol': 1e-4, 'atol': 1e-4}, _grad=False)
    op('FusedBatchNormGradV3', {'epsilon': 1e-3, 'is_training': False}, y_backprop=dy, x=x, scale=rand(r, (3,), F32, .5, 1.5), reserve_space_1=rand(r, (3,), F32), reserve_space_2=rand(r, (3,), F32, .5, 2), reserve_space_3=np.zeros(0, F32), _tol={'rtol': 1e-4, 'atol': 1e-4}, _grad=False)
    fn('batch_normalization', lambda x, m, v, b, g: tf.nn.batch_normalization(x, m, v, b, g, 1e-3), rand(r, (4, 3), F32), rand(r, (3,), F32), rand(r, (3,), F32, .5, 2), rand(r, (3,), F32), rand(r, (3,), F32), params={'epsilon': 1e-3, 'inputs': 'x mean variance offset scale'}, tol=T)
    for dt in [F32, F64, F16]:
        r = rng('xent', str(dt))
        lab = r.rand(3, 4); lab = (lab / lab.sum(1, keepdims=True)).astype(dt)
        op('SoftmaxCrossEntropyWithLogits', features=rand(r, (3, 4), dt, -4, 4), labels=lab, _grad=False)
        run_case('SoftmaxCrossEntropyWithLogits', lambda t: (lambda y: ([y[0]], y[0].op))(raw.SoftmaxCrossEntropyWithLogits(features=t[0], labels=t[1])), [rand(r, (3, 4), dt, -4, 4), lab], note='output 0 only, with gradients to both inputs')
        for it in (I32, I64):
            op('SparseSoftmaxCrossEntropyWithLogits', features=rand(r, (3, 4), dt, -4, 4), labels=np.array([0, 3, 1], it), _grad=False)
            run_case('SparseSoftmaxCrossEntropyWithLogits', lambda t: (lambda y: ([y[0]], y[0].op))(raw.SparseSoftmaxCrossEntropyWithLogits(features=t[0], labels=t[1])), [rand(r, (3, 4), dt, -4, 4), np.array([0, 3, 1], it)], note='output 0 only, with gradient')
    op('SoftmaxCrossEntropyWithLogits', features=A(1000, 0, -1000, 1, 2, 3).reshape(2, 3), labels=A(0, 1, 0, .2, .3, .5).reshape(2, 3), _grad=False)
    op('SoftmaxCrossEntropyWithLogits', features=rand(r, (2, 3), F32), labels=A(.2, .3, .5).reshape(1, 3), _grad=False, _note='labels broadcast')
    op('SoftmaxCrossEntropyWithLogits', features=rand(r, (2, 3), F32), labels=A(1, 2, 3, 0, 0, 0).reshape(2, 3), _grad=False, _note='labels need not sum to one')
    for bad in (5, -1, 3):
        op('SparseSoftmaxCrossEntropyWithLogits', features=np.ones((2, 3), F32), labels=i32(bad, 1), _err=True, _grad=False)
    for nm, f in [('sigmoid_cross_entropy_with_logits', lambda z, y: tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=z)), ('softmax_cross_entropy_with_logits_v1', lambda z, y: tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=z)), ('log_loss', lambda z, y: tf.losses.log_loss(y, tf.sigmoid(z))), ('mean_squared_error', lambda z, y: tf.losses.mean_squared_error(y, z)), ('huber_loss', lambda z, y: tf.losses.huber_loss(y, z)), ('hinge_loss', lambda z, y: tf.losses.hinge_loss(y, z)), ('absolute_difference', lambda z, y: tf.losses.absolute_difference(y, z))]:
        fn(nm, f, rand(rng(nm), (3, 4), F32, -3, 3), rand(rng(nm, 2), (3, 4), F32, 0, 1), params={'inputs': 'logits or predictions, labels'}, tol=T)
    fn('sigmoid_cross_entropy_with_logits', lambda z, y: tf.nn.sigmoid_cross_entropy_with_logits(labels=y, logits=z), A(0, 100, -100, 1e4, INF, -INF), A(.5, 0, 1, 1, 1, 0), params={'inputs': 'logits, labels'}, tol=T)
    fn('weighted_cross_entropy_with_logits', lambda z, y: tf.nn.weighted_cross_entropy_with_logits(targets=y, logits=z, pos_weight=2.), rand(rng(5), (3, 4), F32, -3, 3), rand(rng(6), (3, 4), F32, 0, 1), params={'pos_weight': 2.0, 'inputs': 'logits, labels'}, tol=T)
    for sd in (1, 7):
        for rate in (.25, .5, .9):
            fn('dropout', lambda x: tf.nn.dropout(x, rate=rate, seed=sd), rand(rng('dr'), (4, 7), F32), params={'rate': rate, 'seed': 87654321, 'seed2': sd}, runs=1)
    fn('dropout', lambda x: tf.nn.dropout(x, rate=.5, seed=3, noise_shape=[4, 1]), rand(rng('dr'), (4, 7), F32), params={'rate': .5, 'seed': 87654321, 'seed2': 3, 'noise_shape': [4, 1]})
    fn('dropout', lambda x: tf.nn.dropout(x, rate=.5, seed=3), A(INF, NAN, -INF, 1, INF, NAN, -INF, 1), params={'rate': .5, 'seed': 87654321, 'seed2': 3}, note='2.x selects 0 for dropped elements (no NaN from INF*0); 1.x multiplied by the mask', grad=False)


def arrays():
    r = rng('arrays')
    x34, x234 = rand(r, (3, 4), F32), rand(r, (2, 3, 4), F32)
    for dt in ALL:
        op('ConcatV2', {}, values=[rand(r, (2, 2), dt), rand(r, (2, 3), dt)], axis=np.asarray(I32(1)))
    for ax in (0, 1, 2, -1, -3):
        parts = [np.take(x234, range(k, k + 1), axis=ax % 3) for k in range(2)] + [x234]
        op('ConcatV2', {}, values=parts, axis=np.asarray(I32(ax)))
    op('ConcatV2', {}, values=[np.zeros((0, 4), F32), x34], axis=np.asarray(I32(0)))
    op('ConcatV2', {}, values=[x34, x234], axis=np.asarray(I32(0)), _err=True)
    op('ConcatOffset', {}, concat_dim=np.asarray(I32(1)), shape=[i32(2, 2, 5), i32(2, 3, 5), i32(2, 4, 5)])
    for ax in (0, 1, -1):
        op('Split', {'num_split': 2 if ax else 1}, axis=np.asarray(I32(ax)), value=x34)
        op('Pack', {'axis': ax}, values=[x34, x34 + 1, x34 * 2]); op('Unpack', {'axis': ax, 'num': 3 if ax == 0 else 4}, value=x34)
    op('Split', {'num_split': 3}, axis=np.asarray(I32(1)), value=x34, _err=True)
    op('SplitV', {'num_split': 3}, value=x34, size_splits=i32(1, -1, 2), axis=np.asarray(I32(1)))
    op('SplitV', {'num_split': 2}, value=x34, size_splits=i32(1, 2), axis=np.asarray(I32(1)), _err=True)
    for b, s in [([0, 0], [2, 2]), ([1, 1], [-1, 2]), ([0, 4], [3, 0]), ([2, 3], [1, 1])]:
        op('Slice', {}, input=x34, begin=np.array(b, I32), size=np.array(s, I32))
    op('Slice', {}, input=x34, begin=i32(0, 0), size=i32(4, 1), _err=True)
    x4 = rand(r, (3, 4, 2, 3), F32)
    def ss(x, b, e, s, **m):
        op('StridedSlice', {k + '_mask': v for k, v in m.items()}, input=x, begin=np.array(b, I32), end=np.array(e, I32), strides=np.array(s, I32))
    ss(x34, [0, 1], [2, 3], [1, 1]); ss(x34, [-2, -3], [3, -1], [1, 1]); ss(x34, [0, 0], [3, 4], [2, 3]); ss(x34, [2, 3], [0, 0], [-1, -2]); ss(x34, [5, 0], [9, 4], [1, 1]); ss(x34, [-9, 0], [9, 9], [1, 1])
    ss(x34, [1, 1], [2, 2], [1, 1], begin=1); ss(x34, [1, 1], [2, 2], [1, 1], begin=3, end=3); ss(x34, [1, 1], [2, 2], [-1, -1], begin=3, end=3); ss(x34, [1, 1], [2, 3], [1, 1], shrink_axis=1); ss(x34, [-1, 1], [0, 3], [1, 1], shrink_axis=3)
    ss(x34, [0, 1], [0, 3], [1, 1], new_axis=1); ss(x34, [0, 0, 1], [0, 0, 3], [1, 1, 1], new_axis=2, begin=1, end=1); ss(x4, [0, 1], [0, 2], [1, 1], ellipsis=1); ss(x4, [1, 0, 0], [2, 0, 1], [1, 1, 1], ellipsis=2); ss(x4, [1, 0, 1], [2, 0, 2], [1, 1, 1], ellipsis=2, shrink_axis=5)
    ss(x4, [0, 0, 0, 1], [0, 0, 0, 2], [1, 1, 1, 1], ellipsis=2, new_axis=4, shrink_axis=8, begin=1, end=1); ss(x4, [0], [2], [1]); ss(x4, [0, 0, 0, 0, 0], [9, 9, 9, 9, 9], [1, 1, 1, 1, 1], ellipsis=4)
    rr = rng('ssmask')
    for k in range(40):
        n = rr.randint(1, 5)
        st = rr.choice([1, 1, 2, -1, -2], n)
        m = {q: int(rr.randint(0, 1 << n)) for q in ('begin', 'end', 'shrink_axis', 'new_axis')}
        el = int(rr.randint(0, n)); m['ellipsis'] = (1 << el) if rr.rand() < .5 else 0
        st = np.where([(m['shrink_axis'] >> i) & 1 for i in range(n)], 1, st)
        m['new_axis'] &= int(rr.randint(0, 1 << n))
        ss(x4, rr.randint(-2, 2, n), rr.randint(-2, 4, n), st, **m)
    op('StridedSlice', {'shrink_axis_mask': 1}, input=x34, begin=i32(5), end=i32(6), strides=i32(1), _err=True)
    op('StridedSlice', {}, input=x34, begin=i32(0), end=i32(1), strides=i32(0), _err=True)
    op('StridedSlice', {}, input=x34, begin=i32(0, 0, 0), end=i32(1, 1, 1), strides=i32(1, 1, 1), _err=True)
    op('StridedSliceGrad', {'shrink_axis_mask': 1}, shape=i32(3, 4), begin=i32(1, 0), end=i32(2, 4), strides=i32(1, 2), dy=rand(r, (2,), F32))
    for p in [[[1, 0], [2, 1]], [[0, 0], [0, 0]], [[0, 2], [1, 1]]]:
        op('Pad', {}, input=x34, paddings=np.array(p, I32)); op('PadV2', {}, input=x34, paddings=np.array(p, I32), constant_values=np.asarray(F32(7)))
        if p[0][1] < 3:
            op('MirrorPad', {'mode': 'REFLECT'}, input=x34, paddings=np.array(p, I32)); op('MirrorPad', {'mode': 'SYMMETRIC'}, input=x34, paddings=np.array(p, I32))
    for p in [(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1), (1, 2, 0)]:
        op('Transpose', {}, x=x234, perm=np.array(p, I32))
    for dt in ALL:
        op('Transpose', {}, x=rand(r, (2, 3), dt), perm=i32(1, 0)); op('Tile', {}, input=rand(r, (2, 3), dt), multiples=i32(2, 1)); op('Fill', {}, dims=i32(2, 2), value=np.asarray(rand(r, (), dt)))
        op('Reshape', {}, tensor=rand(r, (2, 3), dt), shape=i32(3, -1)); op('ReverseV2', {}, tensor=rand(r, (2, 3), dt), axis=i32(1)); op('Select', {}, condition=rand(r, (2, 3), BOOL), x=rand(r, (2, 3), dt), y=rand(r, (2, 3), dt))
        op('GatherV2', {}, params=rand(r, (4, 2), dt), indices=i32(3, 0, 3), axis=np.asarray(I32(0))); op('OneHot', {'axis': -1}, indices=i32(0, 2, 5, -1), depth=np.asarray(I32(3)), on_value=np.asarray(np.array(1, dt)), off_value=np.asarray(np.array(0, dt)))
    op('Transpose', {}, x=x34, perm=i32(0, 0), _err=True); op('Tile', {}, input=x34, multiples=i32(1, 3)); op('Tile', {}, input=x34, multiples=i32(0, 1)); op('Tile', {}, input=x234, multiples=i32(2, 2, 2))
    op('Reshape', {}, tensor=x34, shape=i32(5, -1), _err=True); op('Reshape', {}, tensor=x34, shape=i32(-1, -1), _err=True); op('Reshape', {}, tensor=x34, shape=np.array([2, 6], I64)); op('Reshape', {}, tensor=np.ones((1, 1), F32), shape=np.zeros(0, I32)); op('Reshape', {}, tensor=np.zeros((0, 3), F32), shape=i32(-1, 3))
    for ax in ([0, 1], [-1], []):
        op('ReverseV2', {}, tensor=x34, axis=np.array(ax, I32))
    op('ReverseSequence', {'seq_dim': 1, 'batch_dim': 0}, input=x34, seq_lengths=i32(2, 4, 0)); op('ReverseSequence', {'seq_dim': 0, 'batch_dim': 1}, input=x34, seq_lengths=i32(2, 3, 1, 0))
    for ax, sh in [(0, (2,)), (1, (2,)), (-1, (2, 2)), (0, ()), (0, (2, 2))]:
        op('GatherV2', {}, params=x34, indices=rr.randint(0, 3, sh).astype(I32), axis=np.asarray(I32(ax)))
    op('GatherV2', {'batch_dims': 1}, params=x34, indices=rr.randint(0, 4, (3, 2)).astype(I32), axis=np.asarray(I32(1)), _grad=True)
    op('GatherV2', {}, params=x34, indices=i32(3), axis=np.asarray(I32(0)), _err=True); op('GatherV2', {}, params=x34, indices=i32(-1), axis=np.asarray(I32(0)), _err=True)
    op('Gather', {}, params=x34, indices=np.array([2, 0, 2], I64)); op('GatherNd', {}, params=x34, indices=i32(0, 1, 2, 3).reshape(2, 2)); op('GatherNd', {}, params=x34, indices=i32(1, 1).reshape(2, 1)); op('GatherNd', {}, params=x34, indices=i32(3, 0).reshape(1, 2), _err=True)
    op('ScatterNd', {}, indices=i32(4, 3, 1, 4).reshape(4, 1), updates=A(9, 10, 11, 12), shape=i32(6)); op('ScatterNd', {}, indices=i32(0, 2).reshape(2, 1), updates=rand(r, (2, 3), F32), shape=i32(3, 3)); op('ScatterNd', {}, indices=i32(7).reshape(1, 1), updates=A(1), shape=i32(3), _err=True)
    for o in ('TensorScatterUpdate', 'TensorScatterAdd', 'TensorScatterSub'):
        op(o, {}, tensor=x34, indices=i32(0, 2).reshape(2, 1), updates=rand(r, (2, 4), F32))
    for ax in (-1, 0, 1):
        op('OneHot', {'axis': ax}, indices=i32(0, 2, 1, 3).reshape(2, 2), depth=np.asarray(I32(3)), on_value=np.asarray(F32(5)), off_value=np.asarray(F32(-1)))
    op('Where', {}, condition=np.array([[1, 0], [0, 1], [1, 1]], BOOL)); op('Where', {}, condition=A(0, 1.5, -0., NAN)); op('Where', {}, condition=np.zeros((2, 2), BOOL)); op('Where', {}, condition=np.asarray(BOOL(True)), _err=True)
    op('Select', {}, condition=np.array([1, 0, 1], BOOL), x=x34, y=-x34, _note='vector condition selects rows'); op('Select', {}, condition=np.asarray(BOOL(True)), x=x34, y=-x34); op('SelectV2', {}, condition=np.array([[1], [0], [1]], BOOL), t=x34, e=A(1, 2, 3, 4)); op('SelectV2', {}, condition=np.array([1, 0], BOOL), t=A(NAN, NAN), e=A(1, 2))
    for d in (0, 1, 2, -1, -3):
        op('ExpandDims', {}, input=x34, axis=np.asarray(I32(d)))
    op('ExpandDims', {}, input=x34, axis=np.asarray(I32(3)), _err=True); op('Squeeze', {'axis': []}, input=x34.reshape(1, 3, 1, 4)); op('Squeeze', {'axis': [2]}, input=x34.reshape(1, 3, 1, 4)); op('Squeeze', {'axis': [-4]}, input=x34.reshape(1, 3, 1, 4)); op('Squeeze', {'axis': [1]}, input=x34.reshape(1, 3, 1, 4), _err=True)
    for a in [(0, 5, 1), (5, 0, -2), (3, 3, 1), (1, 8, 3)]:
        op('Range', {}, start=np.asarray(I32(a[0])), limit=np.asarray(I32(a[1])), delta=np.asarray(I32(a[2])))
    op('Range', {}, start=np.asarray(F32(0)), limit=np.asarray(F32(1)), delta=np.asarray(F32(.3)), _grad=False); op('Range', {}, start=np.asarray(F32(0)), limit=np.asarray(F32(.9)), delta=np.asarray(F32(.3)), _grad=False, _note='float: ceil of the quotient, element i = start + i*delta by repeated addition')
    op('Range', {}, start=np.asarray(I32(0)), limit=np.asarray(I32(5)), delta=np.asarray(I32(0)), _err=True); op('LinSpace', {}, start=np.asarray(F32(-1)), stop=np.asarray(F32(2)), num=np.asarray(I32(7)), _grad=False)
    op('Fill', {}, dims=np.zeros(0, I32), value=np.asarray(F32(3))); op('BroadcastTo', {}, input=A(1, 2, 3), shape=i32(2, 3)); op('BroadcastArgs', {}, s0=i32(2, 1, 3), s1=i32(4, 1))
    for s0, s1 in [((2, 3), (3,)), ((2, 1, 3), (4, 1)), ((), (2, 3)), ((2, 3), (2, 3)), ((1,), (1,)), ((2, 1), (1, 3))]:
        op('BroadcastGradientArgs', {}, s0=np.array(s0, I32), s1=np.array(s1, I32))
    for o in ('Shape', 'Size', 'Rank'):
        op(o, {} if o == 'Rank' else {'out_type': tf.int32}, input=x234, _grad=False)
    op('Shape', {'out_type': tf.int64}, input=x234, _grad=False); op('ShapeN', {}, input=[x34, x34 + 1], _grad=False); op('InvertPermutation', {}, x=i32(2, 0, 3, 1)); op('InvertPermutation', {}, x=i32(2, 2, 0), _err=True)
    for k in (1, 3):
        for srt in (True, False):
            op('TopKV2', {'sorted': srt}, input=A(1, 3, 3, 2, 5, 0, -1, 5).reshape(2, 4), k=np.asarray(I32(k)), _note='ties: lower index first' if srt else 'unsorted: the order is not promised')
    op('TopKV2', {'sorted': True}, input=x34, k=np.asarray(I32(5)), _err=True)
    p = A(1, 2, 2, 0, .1, .9, NAN, .3, INF, 1, 2, 3).reshape(3, 4)
    for k in (1, 2, 3):
        op('InTopKV2', {}, predictions=p, targets=i32(1, 1, 0), k=np.asarray(I32(k))); op('InTopK', {'k': k}, predictions=p, targets=i32(2, 3, 1))
    op('InTopKV2', {}, predictions=p, targets=i32(9, -1, 0), k=np.asarray(I32(2)), _note='targets out of range give false')
    for dt in (I32, I64, F32):
        op('Unique', {'out_idx': tf.int32}, x=np.array([3, 1, 3, 2, 1], dt), _grad=False); op('UniqueWithCounts', {'out_idx': tf.int32}, x=np.array([3, 1, 3, 2, 1], dt), _grad=False)
    op('Unique', {'out_idx': tf.int32}, x=np.array([b'b', b'a', b'b'], object), _grad=False); op('ListDiff', {'out_idx': tf.int32}, x=i32(1, 2, 3, 4, 5, 6), y=i32(1, 3, 5))
    for o in ('SegmentSum', 'SegmentMean', 'SegmentMax', 'SegmentMin', 'SegmentProd'):
        op(o, {}, data=rand(r, (4, 2), F32), segment_ids=i32(0, 0, 1, 3), _note='missing segment: 0 (Prod: 1)'); op(o, {}, data=rand(r, (4, 2), F32), segment_ids=i32(0, 2, 1, 3), _err=True)
    for o in ('UnsortedSegmentSum', 'UnsortedSegmentMax', 'UnsortedSegmentMin', 'UnsortedSegmentProd'):
        op(o, {}, data=rand(r, (5, 2), F32), segment_ids=i32(2, 0, -1, 2, 0), num_segments=np.asarray(I32(4)), _note='negative id: row ignored'); op(o, {}, data=rand(r, (2, 2, 2), F32), segment_ids=i32(0, 1, 1, 0).reshape(2, 2), num_segments=np.asarray(I32(2)))
    op('UnsortedSegmentSum', {}, data=A(1, 2), segment_ids=i32(0, 5), num_segments=np.asarray(I32(2)), _err=True)
    for o in ('SparseSegmentSum', 'SparseSegmentMean', 'SparseSegmentSqrtN'):
        op(o, {}, data=x34, indices=i32(0, 2, 1), segment_ids=i32(0, 0, 1))
    op('DynamicPartition', {'num_partitions': 3}, data=x34, partitions=i32(2, 0, 2)); op('DynamicStitch', {}, indices=[i32(0, 2), i32(1, 2)], data=[A(1, 2, 3, 4).reshape(2, 2), A(5, 6, 7, 8).reshape(2, 2)])
    op('MatrixBandPart', {}, input=x34, num_lower=np.asarray(I64(1)), num_upper=np.asarray(I64(0))); op('Diag', {}, diagonal=A(1, 2, 3)); op('DiagPart', {}, input=rand(r, (3, 3), F32)); op('MatrixDiag', {}, diagonal=x34)
    op('SpaceToBatchND', {}, input=rand(r, (1, 4, 4, 1), F32), block_shape=i32(2, 2), paddings=np.array([[0, 0], [2, 0]], I32)); op('BatchToSpaceND', {}, input=rand(r, (4, 2, 2, 1), F32), block_shape=i32(2, 2), crops=np.array([[0, 1], [0, 0]], I32)); op('SpaceToDepth', {'block_size': 2}, input=rand(r, (1, 4, 4, 2), F32)); op('DepthToSpace', {'block_size': 2}, input=rand(r, (1, 2, 2, 8), F32))
    op('SparseToDense', {}, sparse_indices=np.array([[0, 1], [2, 3]], I64), output_shape=np.array([3, 4], I64), sparse_values=A(5, 6), default_value=np.asarray(F32(-1)), _grad=False); op('Bincount', {}, arr=i32(1, 3, 1, 9), size=np.asarray(I32(5)), weights=np.zeros(0, F32), _grad=False)
    op('HistogramFixedWidth', {'dtype': tf.int32}, values=A(-1, 0, 1.5, 2, 5, 15), value_range=A(0, 5), nbins=np.asarray(I32(5)), _grad=False); op('Bucketize', {'boundaries': [0., 10., 100.]}, input=A(-5, 0, 10, 150), _grad=False); op('Cross', {}, a=A(1, 2, 3), b=A(4, 5, 6)); op('ExtractImagePatches', {'ksizes': [1, 2, 2, 1], 'strides': [1, 1, 1, 1], 'rates': [1, 1, 1, 1], 'padding': 'VALID'}, images=rand(r, (1, 3, 3, 2), F32))
    kinds = [F32, F64, F16, BF16, I32, I64, np.uint8, np.int8, np.int16, np.uint16, BOOL]
    for src in kinds:
        k = np.dtype(src).kind if src != BF16 else 'f'
        if src == BOOL:
            v = np.array([True, False])
        elif k == 'f':
            v = np.array([0, -0., 1, -1, 2.7, -2.7, .5, 1.5, 2.5, 255, 300, -300, 70000, 1e-8], F64).astype(src)
        else:
            v = np.array([0, 1, 2, 100, 127, -1, -128, 200, 255, 300, -300, 70000, 2**31 - 1, -2**31, 2**40 + 3], object)
            info = np.iinfo(src); v = np.array([q for q in v if info.min <= q <= info.max], src)
        for dst in kinds:
            dk = 'f' if dst == BF16 else np.dtype(dst).kind
            note = None
            vv = v
            if k == 'f' and dk in 'iu':
                info = np.iinfo(dst)
                vv = np.array([q for q in v.astype(F64) if info.min <= np.trunc(q) <= info.max], F64).astype(src)
            op('Cast', {'DstT': tf.as_dtype(dst)}, x=vv, _tol={'exact': True}, _note='values that fit' if k == 'f' and dk in 'iu' else None)
    for dst in (I32, I64, np.uint8, np.int8, np.int16):
        op('Cast', {'DstT': tf.as_dtype(dst)}, x=A(NAN, INF, -INF, 3e9, -3e9, 300, -1, -300, 1e20), _grad=False, _tol={'exact': True}, _note='out of range: what x86-64 gives (undefined in C: convert with explicit checks)')
    op('Cast', {'DstT': tf.float16}, x=A(65504, 65519, 65520, 1e-8, 6e-8, 3e-8, 2049, 2051), _tol={'exact': True}, _grad=False, _note='round to nearest even; denormal halves kept'); op('Cast', {'DstT': tf.bfloat16}, x=A(1.00390625, 1.01171875, 3.4e38, 1e-40, NAN, INF), _tol={'exact': True}, _grad=False, _note='round to nearest even')
    op('Cast', {'DstT': tf.bfloat16, 'Truncate': True}, x=A(1.0039, 1.0117, 3.4e38), _tol={'exact': True}, _grad=False, _note='Truncate=true drops the low 16 bits')


def strings():
    o = lambda *a: np.array(a, object)
    for t in (tf.float32, tf.float64, tf.int32, tf.int64):
        op('StringToNumber', {'out_type': t}, string_tensor=o(b'12', b'-7', b' 3 ', b'0'))
    op('StringToNumber', {'out_type': tf.float32}, string_tensor=o(b'1.5', b'1e3', b'inf', b'-inf', b'nan', b'.5', b'5.', b'1e-46', b'0x10'))
    for bad, t in [(b'1.5x', tf.float32), (b'', tf.float32), (b'1.5', tf.int32), (b'99999999999', tf.int32), (b'abc', tf.int64)]:
        op('StringToNumber', {'out_type': t}, string_tensor=o(bad), _err=True)
    for kw in [{}, {'precision': 2}, {'scientific': True}, {'shortest': True}, {'width': 10}, {'width': 10, 'fill': '0'}, {'width': 10, 'fill': '-'}, {'precision': 3, 'scientific': True}]:
        op('AsString', kw, input=A(1.5, -1e10, NAN, INF, 1 / 3, 0, 1e-7), _grad=False)
    for dt in (F64, I32, I64, np.uint8, np.int8, BOOL):
        op('AsString', {}, input=rand(rng('as', str(dt)), (3,), dt), _grad=False)
    op('AsString', {'width': 5, 'fill': '0'}, input=i32(7, -7), _grad=False); op('AsString', {'fill': 'xx'}, input=i32(7), _grad=False, _err=True)
    for t in (tf.uint8, tf.int8, tf.int16, tf.int32, tf.int64, tf.float32, tf.float64, tf.float16):
        op('DecodeRaw', {'out_type': t, 'little_endian': True}, bytes=o(b'\x00\x01\x80\x3f\xff\x7f\x10\x20', b'\x01\x00\x00\x00\x00\x00\xf0\x3f'), _grad=False)
        op('DecodeRaw', {'out_type': t, 'little_endian': False}, bytes=o(b'\x00\x01\x80\x3f\xff\x7f\x10\x20'), _grad=False)
    op('DecodeRaw', {'out_type': tf.int16}, bytes=o(b'abc'), _err=True); op('DecodeRaw', {'out_type': tf.uint8}, bytes=o(b'ab', b'c'), _err=True); op('DecodeRaw', {'out_type': tf.uint8}, bytes=o(), _grad=False); op('DecodeRaw', {'out_type': tf.uint8}, bytes=o(b'', b''), _grad=False)
    op('StringJoin', {'separator': '-'}, inputs=[o(b'a', b'b'), np.asarray(b'x', object), o(b'c', b'd')]); op('StringJoin', {}, inputs=[o(b'a', b'b'), o(b'c', b'd')]); op('StringJoin', {}, inputs=[o(b'a', b'b'), o(b'c', b'd', b'e')], _err=True)
    for ax in ([0], [1], [0, 1], [1, 0], []):
        op('ReduceJoin', {'separator': ','}, inputs=o(b'a', b'b', b'c', b'd').reshape(2, 2), reduction_indices=np.array(ax, I32))
    op('StringSplit', {'skip_empty': True}, input=o(b'a b  c', b'', b' d'), delimiter=np.asarray(b' ', object)); op('StringSplit', {'skip_empty': False}, input=o(b'a,b,,c', b''), delimiter=np.asarray(b',', object)); op('StringSplit', {'skip_empty': True}, input=o(b'ab'), delimiter=np.asarray(b'', object))
    op('Substr', {}, input=o(b'hello', b'worlds'), pos=i32(1, -2), len=i32(3, 2)); op('Substr', {}, input=o(b'hi'), pos=np.asarray(I32(5)), len=np.asarray(I32(1)), _err=True); op('StringLength', {}, input=o(b'a', b'', b'\xc3\xa9')); op('StringStrip', {}, input=o(b' a b ', b'\tx\n')); op('StringLower', {}, input=o(b'AbC')); op('StringUpper', {}, input=o(b'AbC'))
    op('StringToHashBucketFast', {'num_buckets': 1000}, input=o(b'', b'a', b'hello', b'a much longer string than thirty-two bytes, to reach the long path')); op('StringToHashBucket', {'num_buckets': 1000}, string_tensor=o(b'', b'a', b'hello')); op('StringToHashBucketStrong', {'num_buckets': 1000, 'key': [1, 2]}, input=o(b'', b'a', b'hello'))
    op('EncodeBase64', {'pad': False}, input=o(b'', b'a', b'ab', b'abc', b'\xfb\xff')); op('EncodeBase64', {'pad': True}, input=o(b'', b'a', b'ab', b'\xfb\xff')); op('DecodeBase64', {}, input=o(b'', b'YQ', b'YWI', b'-_8')); op('DecodeBase64', {}, input=o(b'*'), _err=True)
    op('RegexReplace', {'replace_global': True}, input=o(b'a1b22'), pattern=np.asarray(b'[0-9]+', object), rewrite=np.asarray(b'#', object)); op('RegexFullMatch', {}, input=o(b's3://x', b'x'), pattern=np.asarray(b'^s3://.*', object))
    op('StringFormat', {'template': 'a {} b', 'placeholder': '{}', 'summarize': 3}, inputs=[i32(1, 2, 3, 4, 5, 6, 7, 8)])
    op('ShardedFilename', {}, basename=np.asarray(b'/d/p', object), shard=np.asarray(I32(3)), num_shards=np.asarray(I32(12)))
    op('Equal', {}, x=o(b'a', b'b'), y=o(b'a', b'c')); op('ConcatV2', {}, values=[o(b'a'), o(b'b', b'c')], axis=np.asarray(I32(0))); op('GatherV2', {}, params=o(b'a', b'b'), indices=i32(1, 0), axis=np.asarray(I32(0))); op('Reshape', {}, tensor=o(b'a', b'b'), shape=i32(2, 1))


def random_ops():
    seeds = [(87654321, 1), (1234, 5678), (42, 42), (0, 2147483647), (5, 0), (2**40 + 7, 2**35 + 9)]
    shapes = [(1,), (3,), (4,), (5,), (2, 3), (17,), (9, 7), (0,), ()]
    N = {'rtol': 2e-6, 'atol': 5e-7}
    for o in ['RandomUniform', 'RandomStandardNormal', 'TruncatedNormal']:
        for i, (a, b) in enumerate(seeds):
            for sh in (shapes if i < 2 else [(5,), (2, 3)]):
                op(o, {'dtype': tf.float32, 'seed': a, 'seed2': b}, shape=np.array(sh, I32), _runs=3, _tol={'exact': True} if o == 'RandomUniform' else N)
        for dt in (tf.float64, tf.float16, tf.bfloat16):
            for sh in [(5,), (2, 3)]:
                op(o, {'dtype': dt, 'seed': 1234, 'seed2': 5678}, shape=np.array(sh, I32), _runs=3, _tol={'exact': True} if o == 'RandomUniform' else None)
        op(o, {'dtype': tf.float32, 'seed': 77, 'seed2': 88}, shape=np.array([1000], I32), _runs=2, _tol={'exact': True} if o == 'RandomUniform' else N)
    for (a, b) in seeds[:4]:
        for sh in [(1,), (5,), (8,), (2, 3)]:
            op('RandomUniformInt', {'seed': a, 'seed2': b}, shape=np.array(sh, I32), minval=np.asarray(I32(-5)), maxval=np.asarray(I32(12)), _runs=3)
            op('RandomUniformInt', {'seed': a, 'seed2': b}, shape=np.array(sh, I32), minval=np.asarray(I64(0)), maxval=np.asarray(I64(10**12)), _runs=3)
        for n in (1, 2, 5, 6, 10, 33):
            op('RandomShuffle', {'seed': a, 'seed2': b}, value=np.arange(n, dtype=I32), _runs=3)
        op('RandomShuffle', {'seed': a, 'seed2': b}, value=np.arange(14, dtype=F32).reshape(7, 2), _runs=3, _grad=False)
        op('Multinomial', {'seed': a, 'seed2': b}, logits=A(0, 1, 2, 5, 0, 0, 1, 1, 1).reshape(3, 3), num_samples=np.asarray(I32(7)), _runs=3, _grad=False)
        op('Multinomial', {'seed': a, 'seed2': b}, logits=A(0, 1, NAN, -INF).reshape(1, 4), num_samples=np.asarray(I32(9)), _runs=2, _grad=False)
    op('RandomUniformInt', {'seed': 1, 'seed2': 2}, shape=i32(2), minval=np.asarray(I32(3)), maxval=np.asarray(I32(3)), _err=True)
    op('RandomUniformInt', {'seed': 1, 'seed2': 2}, shape=i32(0), minval=np.asarray(I32(3)), maxval=np.asarray(I32(3)))
    op('RandomUniformInt', {'seed': 1, 'seed2': 2}, shape=i32(4), minval=np.asarray(I32(-2**31)), maxval=np.asarray(I32(2**31 - 1)))
    op('RandomGamma', {'seed': 1234, 'seed2': 5678}, shape=i32(4), alpha=A(.5, 1, 3), _runs=2, _grad=False, _tol={'rtol': 1e-5, 'atol': 1e-6})
    op('RandomPoissonV2', {'seed': 1234, 'seed2': 5678, 'dtype': tf.int64}, shape=i32(6), rate=A(.5, 3, 30), _runs=2, _grad=False)
    op('ParameterizedTruncatedNormal', {'seed': 1234, 'seed2': 5678}, shape=i32(6), means=np.asarray(F32(1)), stdevs=np.asarray(F32(2)), minvals=np.asarray(F32(-1)), maxvals=np.asarray(F32(2)), _runs=2, _grad=False, _tol={'rtol': 1e-5, 'atol': 1e-5})
    for nm, f in [('random_uniform', lambda: tf.random_uniform([7], -1., 3., seed=11)), ('random_uniform_01', lambda: tf.random_uniform([7], seed=11)), ('random_normal', lambda: tf.random_normal([7], 1., .5, seed=11)), ('truncated_normal', lambda: tf.truncated_normal([7], 1., .5, seed=11)), ('random_shuffle', lambda: tf.random_shuffle(tf.range(9), seed=11)), ('multinomial', lambda: tf.multinomial([[0., 1., 2.]], 5, seed=11))]:
        fn(nm, f, runs=3, params={'seed': 87654321, 'seed2': 11}, tol=N, grad=False)
    I = tf.initializers
    for nm, mk in [('glorot_uniform', lambda s: tf.glorot_uniform_initializer(seed=s)), ('glorot_normal', lambda s: tf.glorot_normal_initializer(seed=s)), ('he_normal', lambda s: tf.keras.initializers.he_normal(seed=s)), ('lecun_normal', lambda s: tf.keras.initializers.lecun_normal(seed=s)), ('variance_scaling_fan_avg_uniform_2', lambda s: tf.variance_scaling_initializer(2., 'fan_avg', 'uniform', seed=s)), ('uniform_unit_scaling', lambda s: tf.uniform_unit_scaling_initializer(seed=s)), ('truncated_normal_initializer', lambda s: tf.truncated_normal_initializer(0., .1, seed=s)), ('random_normal_initializer', lambda s: tf.random_normal_initializer(0., .1, seed=s)), ('random_uniform_initializer', lambda s: tf.random_uniform_initializer(-.1, .1, seed=s)), ('orthogonal', lambda s: tf.orthogonal_initializer(seed=s))]:
        for sh in [(4, 3), (3, 3, 2, 4), (5,)]:
            if nm == 'orthogonal' and len(sh) < 2:
                continue
            try:
                fn('initializer_' + nm, lambda: mk(9)(sh, dtype=tf.float32), params={'shape': sh, 'op seed': 9, 'seed': 87654321, 'seed2': 9}, tol={'rtol': 1e-5, 'atol': 1e-6}, grad=False)
            except Exception as e:
                print('?? initializer', nm, str(e)[:100], file=sys.stderr)
    if want('RandomShuffleQueue'):
        d = Dir.get('RandomShuffleQueue')
        for (a, b) in seeds[:3]:
            for mn in (0, 3):
                with tf.Graph().as_default(), tf.Session(config=config()) as s:
                    h = raw.RandomShuffleQueueV2(component_types=[tf.int32], shapes=[[]], capacity=32, min_after_dequeue=mn, seed=a, seed2=b)
                    s.run(raw.QueueEnqueueManyV2(handle=h, components=[list(range(12))]))
                    dq = raw.QueueDequeueV2(handle=h, component_types=[tf.int32])
                    one = [int(s.run(dq)[0]) for _ in range(4)]
                    s.run(raw.QueueEnqueueManyV2(handle=h, components=[[100, 101, 102]]))
                    two = s.run(raw.QueueDequeueManyV2(handle=h, n=5, component_types=[tf.int32]))[0]
                    s.run(raw.QueueCloseV2(handle=h))
                    rest = s.run(raw.QueueDequeueUpToV2(handle=h, n=32, component_types=[tf.int32]))[0]
                d.case({'op': 'RandomShuffleQueueV2', 'attrs': {'seed': a, 'seed2': b, 'min_after_dequeue': mn, 'capacity': 32},
                        'script': 'enqueue_many 0..11; dequeue x4 -> out0; enqueue_many 100,101,102; dequeue_many 5 -> out1; close; dequeue_up_to 32 -> out2',
                        'outputs': [d.put(np.array(one, I32)), d.put(two), d.put(rest)], 'tol': {'exact': True}})


def images():
    r = rng('img')
    x = rand(r, (1, 3, 4, 2), F32, 0, 255)
    for o in ['ResizeBilinear', 'ResizeNearestNeighbor', 'ResizeBicubic', 'ResizeArea']:
        for sz in [(6, 8), (2, 3), (5, 3), (3, 4), (1, 1)]:
            for ac, hp in [(False, False), (True, False), (False, True)]:
                if o == 'ResizeArea' and hp:
                    continue
                op(o, dict({'align_corners': ac}, **({} if o == 'ResizeArea' else {'half_pixel_centers': hp})), images=x, size=i32(*sz), _tol={'rtol': 1e-5, 'atol': 2e-4}, _grad=o != 'ResizeArea')
        op(o, {}, images=np.arange(12, dtype=np.uint8).reshape(1, 3, 4, 1), size=i32(5, 5), _tol={'rtol': 1e-5, 'atol': 1e-4})
    op('CropAndResize', {'method': 'bilinear', 'extrapolation_value': 0.}, image=x, boxes=A(0, 0, 1, 1, .2, .1, .8, 1.2).reshape(2, 4), box_ind=i32(0, 0), crop_size=i32(2, 3), _tol={'rtol': 1e-5, 'atol': 1e-3})
    rgb = rand(r, (2, 2, 3), F32, 0, 1)
    op('RGBToHSV', {}, images=rgb, _grad=False, _tol={'rtol': 1e-5, 'atol': 1e-5}); op('HSVToRGB', {}, images=rgb, _grad=False, _tol={'rtol': 1e-5, 'atol': 1e-5}); op('AdjustContrastv2', {}, images=rgb, contrast_factor=np.asarray(F32(1.7)), _grad=False, _tol={'rtol': 1e-5, 'atol': 1e-5})
    fn('per_image_standardization', tf.image.per_image_standardization, rand(r, (3, 4, 2), F32, 0, 255), tol={'rtol': 1e-5, 'atol': 1e-5}, grad=False)
    fn('per_image_standardization', tf.image.per_image_standardization, np.full((2, 2, 3), 7, F32), tol={'rtol': 1e-5, 'atol': 1e-5}, grad=False, note='constant image: divisor is at least 1/sqrt(number of elements)')
    fn('per_image_standardization', tf.image.per_image_standardization, np.arange(12, dtype=np.uint8).reshape(2, 2, 3), tol={'rtol': 1e-5, 'atol': 1e-5}, grad=False)
    im = np.arange(18, dtype=F32).reshape(3, 3, 2)
    for sd in (1, 2, 3, 4):
        fn('random_flip_left_right', lambda t: tf.image.random_flip_left_right(t, seed=sd), im, runs=4, grad=False, params={'seed': 87654321, 'seed2': sd}); fn('random_flip_up_down', lambda t: tf.image.random_flip_up_down(t, seed=sd), im, runs=4, grad=False, params={'seed': 87654321, 'seed2': sd})
        fn('random_flip_left_right_batch', lambda t: tf.image.random_flip_left_right(t, seed=sd), np.stack([im, im + 100, im + 200]), runs=4, grad=False, params={'seed': 87654321, 'seed2': sd})
        fn('random_crop', lambda t: tf.random_crop(t, [2, 2, 2], seed=sd), im, runs=4, grad=False, params={'size': [2, 2, 2], 'seed': 87654321, 'seed2': sd}); fn('random_brightness', lambda t: tf.image.random_brightness(t, 5., seed=sd), im, runs=3, grad=False, params={'max_delta': 5.0, 'seed': 87654321, 'seed2': sd}); fn('random_contrast', lambda t: tf.image.random_contrast(t, .2, 1.8, seed=sd), im, runs=3, grad=False, params={'lower': .2, 'upper': 1.8, 'seed': 87654321, 'seed2': sd}, tol={'rtol': 1e-5, 'atol': 1e-5})
    fn('resize_image_with_crop_or_pad', lambda t: tf.image.resize_image_with_crop_or_pad(t, 2, 5), im, grad=False, params={'height': 2, 'width': 5}); fn('central_crop', lambda t: tf.image.central_crop(t, .5), np.arange(32, dtype=F32).reshape(4, 4, 2), grad=False, params={'fraction': .5})
    fn('convert_image_dtype', lambda t: tf.image.convert_image_dtype(t, tf.float32), np.array([0, 1, 128, 255], np.uint8).reshape(2, 2, 1), grad=False, params={'dtype': 'float32'}); fn('convert_image_dtype', lambda t: tf.image.convert_image_dtype(t, tf.uint8), A(0, .5, .999, 1).reshape(2, 2, 1), grad=False, params={'dtype': 'uint8'}); fn('rgb_to_grayscale', tf.image.rgb_to_grayscale, rgb, grad=False, tol={'rtol': 1e-5, 'atol': 1e-6})
    def png(ctype, depth, rows):
        def chunk(t, b):
            return len(b).to_bytes(4, 'big') + t + b + (zlib.crc32(t + b) & 0xffffffff).to_bytes(4, 'big')
        h, w = len(rows), len(rows[0]) // {0: 1, 2: 3, 4: 2, 6: 4}[ctype]
        return b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', w.to_bytes(4, 'big') + h.to_bytes(4, 'big') + bytes([depth, ctype, 0, 0, 0])) + chunk(b'IDAT', zlib.compress(b''.join(b'\0' + bytes(q) for q in rows))) + chunk(b'IEND', b'')
    g, c, ca = png(0, 8, [[0, 50, 255], [1, 2, 3]]), png(2, 8, [[255, 0, 0, 0, 255, 0], [0, 0, 255, 10, 20, 30]]), png(6, 8, [[255, 0, 0, 128, 0, 255, 0, 255]])
    for b in (g, c, ca):
        for ch in (0, 1, 3, 4):
            op('DecodePng', {'channels': ch}, contents=np.asarray(b, object), _grad=False)
    op('DecodePng', {}, contents=np.asarray(b'junk', object), _err=True, _grad=False)
    fn('encode_png_decode_png', lambda t: tf.image.decode_png(tf.image.encode_png(t)), np.arange(24, dtype=np.uint8).reshape(2, 4, 3), grad=False, note='round trip; compressed bytes depend on the zlib version')
    P = [rand(rng('emb', k), (3, 2), F32) for k in range(2)]
    for st in ('mod', 'div'):
        fn('embedding_lookup', lambda a, b, i: tf.nn.embedding_lookup([a, b], i, partition_strategy=st), P[0], P[1], i32(0, 3, 5, 1, 3), params={'partition_strategy': st, 'inputs': 'two shards, ids'})
    fn('embedding_lookup', lambda a, i: tf.nn.embedding_lookup(a, i), P[0], i32(2, 0, 2), params={}); fn('embedding_lookup', lambda a, i: tf.nn.embedding_lookup(a, i, max_norm=1.), P[0], i32(2, 0, 2), params={'max_norm': 1.0})
    for cb in ('sum', 'mean', 'sqrtn'):
        fn('embedding_lookup_sparse', lambda a, w: tf.nn.embedding_lookup_sparse(a, tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [1, 2, 0], [3, 2]), tf.SparseTensor([[0, 0], [0, 1], [2, 0]], w, [3, 2]), combiner=cb), P[0], A(.5, 2, 3), params={'combiner': cb, 'indices': [[0, 0], [0, 1], [2, 0]], 'ids': [1, 2, 0], 'inputs': 'table, weights'})


def optimisers():
    S = lambda v: np.asarray(F32(v))
    steps = 5
    table = {  # op: (slots with initial values, scalar inputs in order with values, attrs)
        'ApplyGradientDescent': ([], ['alpha'], ['delta']), 'ApplyMomentum': (['accum'], ['lr'], ['grad', 'momentum'])}
    def seq(name, attrs, state0, kwargs_of, sparse=False):
        """state0: ordered name -> array (first is var); kwargs_of(vars, step) -> raw_ops keywords."""
        if not want(name):
            return
        d = Dir.get(name)
        rec = {'op': name, 'attrs': attrs, 'state': list(state0), 'initial': [d.put(v) for v in state0.values()], 'steps': [], 'tol': {'rtol': 2e-6, 'atol': 1e-7}}
        with tf.Graph().as_default(), tf.Session(config=config()) as s:
            vs = {k: tf.Variable(v, name=k) for k, v in state0.items()}
            s.run(tf.global_variables_initializer())
            for k in range(steps):
                kw = kwargs_of(k)
                o = getattr(raw, name)(**{n: v._ref() if hasattr(v, '_ref') else v for n, v in vs.items()}, **{n: tf.constant(v) for n, v in kw.items()}, **attrs)
                s.run(o)
                rec['steps'].append({'inputs': {n: d.put(v) for n, v in kw.items()}, 'after': [d.put(s.run(v)) for v in vs.values()]})
        d.case(rec)
    V = rand(rng('opt'), (4, 2), F32)
    Z, O = np.zeros((4, 2), F32), np.ones((4, 2), F32)
    g = lambda k: rand(rng('g', k), (4, 2), F32, -1, 1)
    sp = lambda k: {'grad': rand(rng('sg', k), (3, 2), F32, -1, 1), 'indices': i32(*[[0, 2, 3], [1, 0, 3], [3, 2, 1], [0, 1, 2], [2, 0, 1]][k])}
    b1p = lambda k: S(.9 ** (k + 1)); b2p = lambda k: S(.999 ** (k + 1))
    for lk in (False, True):
        seq('ApplyGradientDescent', {'use_locking': lk}, {'var': V}, lambda k: {'alpha': S(.1), 'delta': g(k)})
    for nes in (False, True):
        seq('ApplyMomentum', {'use_nesterov': nes}, {'var': V, 'accum': Z}, lambda k: {'lr': S(.1), 'grad': g(k), 'momentum': S(.9)})
        seq('ApplyAdam', {'use_nesterov': nes}, {'var': V, 'm': Z, 'v': Z}, lambda k: {'beta1_power': b1p(k), 'beta2_power': b2p(k), 'lr': S(.01), 'beta1': S(.9), 'beta2': S(.999), 'epsilon': S(1e-8), 'grad': g(k)})
        seq('SparseApplyMomentum', {'use_nesterov': nes}, {'var': V, 'accum': Z}, lambda k: dict({'lr': S(.1)}, **sp(k), momentum=S(.9)))
    for us in (True, False):
        seq('ApplyAdagrad', {'update_slots': us}, {'var': V, 'accum': O * F32(.1)}, lambda k: {'lr': S(.1), 'grad': g(k)})
        seq('SparseApplyAdagrad', {'update_slots': us}, {'var': V, 'accum': O * F32(.1)}, lambda k: dict({'lr': S(.1)}, **sp(k)))
    ad = lambda k: {'lr': S(.5), 'rho': S(.95), 'epsilon': S(1e-6)}
    seq('ApplyAdadelta', {}, {'var': V, 'accum': Z, 'accum_update': Z}, lambda k: dict(ad(k), grad=g(k))); seq('SparseApplyAdadelta', {}, {'var': V, 'accum': Z, 'accum_update': Z}, lambda k: dict(ad(k), **sp(k)))
    rm = lambda k: {'lr': S(.01), 'rho': S(.9), 'momentum': S(.5), 'epsilon': S(1e-10)}
    seq('ApplyRMSProp', {}, {'var': V, 'ms': O, 'mom': Z}, lambda k: dict(rm(k), grad=g(k))); seq('SparseApplyRMSProp', {}, {'var': V, 'ms': O, 'mom': Z}, lambda k: dict(rm(k), **sp(k)))
    seq('ApplyCenteredRMSProp', {}, {'var': V, 'mg': Z, 'ms': O, 'mom': Z}, lambda k: dict(rm(k), grad=g(k))); seq('SparseApplyCenteredRMSProp', {}, {'var': V, 'mg': Z, 'ms': O, 'mom': Z}, lambda k: dict(rm(k), **sp(k)))
    for lp in (-.5, -1., 0.):
        for l1 in (0., .05):
            ft = lambda k: {'lr': S(.1), 'l1': S(l1), 'l2': S(.02), 'lr_power': S(lp)}
            seq('ApplyFtrl', {}, {'var': V, 'accum': O * F32(.1), 'linear': Z}, lambda k: dict(grad=g(k), **ft(k))); seq('SparseApplyFtrl', {}, {'var': V, 'accum': O * F32(.1), 'linear': Z}, lambda k: dict(sp(k), **ft(k)))
    f2 = lambda k: {'lr': S(.1), 'l1': S(.01), 'l2': S(.02), 'l2_shrinkage': S(.1), 'lr_power': S(-.5)}
    seq('ApplyFtrlV2', {}, {'var': V, 'accum': O * F32(.1), 'linear': Z}, lambda k: dict(grad=g(k), **f2(k))); seq('SparseApplyFtrlV2', {}, {'var': V, 'accum': O * F32(.1), 'linear': Z}, lambda k: dict(sp(k), **f2(k)))
    seq('ApplyProximalGradientDescent', {}, {'var': V}, lambda k: {'alpha': S(.1), 'l1': S(.05), 'l2': S(.02), 'delta': g(k)}); seq('ApplyProximalAdagrad', {}, {'var': V, 'accum': O * F32(.1)}, lambda k: {'lr': S(.1), 'l1': S(.05), 'l2': S(.02), 'grad': g(k)})
    seq('SparseApplyProximalGradientDescent', {}, {'var': V}, lambda k: dict({'alpha': S(.1), 'l1': S(.05), 'l2': S(.02)}, **sp(k))); seq('SparseApplyProximalAdagrad', {}, {'var': V, 'accum': O * F32(.1)}, lambda k: dict({'lr': S(.1), 'l1': S(.05), 'l2': S(.02)}, **sp(k)))
    seq('ApplyAdagradDA', {}, {'var': V, 'gradient_accumulator': Z, 'gradient_squared_accumulator': O * F32(.1)}, lambda k: {'grad': g(k), 'lr': S(.1), 'l1': S(.01), 'l2': S(.02), 'global_step': np.asarray(I64(k + 1))})
    seq('ApplyAddSign', {}, {'var': V, 'm': Z}, lambda k: {'lr': S(.1), 'alpha': S(1), 'sign_decay': S(.9), 'beta': S(.9), 'grad': g(k)}); seq('ApplyPowerSign', {}, {'var': V, 'm': Z}, lambda k: {'lr': S(.1), 'logbase': S(1), 'sign_decay': S(.9), 'beta': S(.9), 'grad': g(k)})
    seq('ApplyAdaMax', {}, {'var': V, 'm': Z, 'v': Z}, lambda k: {'beta1_power': b1p(k), 'lr': S(.01), 'beta1': S(.9), 'beta2': S(.999), 'epsilon': S(1e-8), 'grad': g(k)})
    dup = lambda k: {'indices': i32(0, 3, 0), 'updates': rand(rng('su', k), (3, 2), F32, .5, 2)}
    for o in ('ScatterAdd', 'ScatterSub', 'ScatterUpdate', 'ScatterMul', 'ScatterDiv', 'ScatterMin', 'ScatterMax'):
        seq(o, {}, {'ref': V}, dup)
    for o in ('ScatterNdAdd', 'ScatterNdSub', 'ScatterNdUpdate'):
        seq(o, {}, {'ref': V}, lambda k: {'indices': np.array([[0, 1], [3, 0]], I32), 'updates': rand(rng('sn', k), (2,), F32)})
    for o in ('AssignAdd', 'AssignSub', 'Assign'):
        seq(o, {}, {'ref': V}, lambda k: {'value': g(k)})
    T = tf.train
    classes = {'GradientDescentOptimizer(0.1)': lambda: T.GradientDescentOptimizer(.1), 'MomentumOptimizer(0.1,0.9)': lambda: T.MomentumOptimizer(.1, .9), 'MomentumOptimizer(0.1,0.9,use_nesterov=True)': lambda: T.MomentumOptimizer(.1, .9, use_nesterov=True), 'AdamOptimizer()': lambda: T.AdamOptimizer(), 'AdamOptimizer(0.01,epsilon=0.1)': lambda: T.AdamOptimizer(.01, epsilon=.1), 'RMSPropOptimizer(0.01)': lambda: T.RMSPropOptimizer(.01), 'RMSPropOptimizer(0.01,momentum=0.9,centered=True)': lambda: T.RMSPropOptimizer(.01, momentum=.9, centered=True), 'AdagradOptimizer(0.1)': lambda: T.AdagradOptimizer(.1), 'AdadeltaOptimizer(1.0)': lambda: T.AdadeltaOptimizer(1.), 'FtrlOptimizer(0.1,l1_regularization_strength=0.01)': lambda: T.FtrlOptimizer(.1, l1_regularization_strength=.01)}
    if want('optimizers'):
        d = Dir.get('optimizers')
        for nm, mk in classes.items():
            for kind in ('dense', 'sparse'):
                with tf.Graph().as_default(), tf.Session(config=config()) as s:
                    v = tf.Variable(V, name='v')
                    gp = tf.placeholder(tf.float32, [3, 2] if kind == 'sparse' else [4, 2])
                    gr = tf.IndexedSlices(gp, tf.constant([0, 2, 0]), tf.constant([4, 2])) if kind == 'sparse' else gp
                    tr = mk().apply_gradients([(gr, v)])
                    s.run(tf.global_variables_initializer())
                    names = [x.op.name for x in tf.global_variables()]
                    rec = {'op': 'py:' + nm, 'gradient': kind, 'variables': names, 'initial': [d.put(s.run(x)) for x in tf.global_variables()], 'steps': [], 'tol': {'rtol': 3e-6, 'atol': 1e-7}}
                    if kind == 'sparse':
                        rec['indices'] = [0, 2, 0]
                    for k in range(steps):
                        gv = rand(rng('og', kind, k), (3, 2) if kind == 'sparse' else (4, 2), F32, -1, 1)
                        s.run(tr, {gp: gv})
                        rec['steps'].append({'gradient': d.put(gv), 'after': [d.put(s.run(x)) for x in tf.global_variables()]})
                d.case(rec)
    if want('moving_average'):
        d = Dir.get('moving_average')
        for nu in (False, True):
            for zd in (False, True):
                with tf.Graph().as_default(), tf.Session(config=config()) as s:
                    gs = tf.placeholder(tf.float32, [])
                    v = tf.Variable([1., -2.], name='v')
                    t = tf.multiply(v, 1., name='t')
                    e = T.ExponentialMovingAverage(.99, gs if nu else None, zero_debias=zd)
                    ap = e.apply([v, t])
                    s.run(tf.global_variables_initializer())
                    rec = {'op': 'py:ExponentialMovingAverage', 'params': {'decay': .99, 'num_updates': nu, 'zero_debias': zd, 'applied to': 'variable v and tensor t = v*1'}, 'variables': [x.op.name for x in tf.global_variables()], 'initial': [d.put(s.run(x)) for x in tf.global_variables()], 'steps': [], 'tol': {'rtol': 3e-6, 'atol': 1e-7}}
                    for k in range(steps):
                        val = A(k * .5, 3. - k)
                        s.run(v.assign(val)); s.run(ap, {gs: k * 20.})
                        rec['steps'].append({'v': d.put(val), 'num_updates': k * 20., 'after': [d.put(s.run(x)) for x in tf.global_variables()]})
                d.case(rec)
    if want('learning_rate'):
        d = Dir.get('learning_rate')
        st = [0, 1, 5, 6, 10, 11, 20, 25, 300, 599, 600, 900, 1200]
        for nm, f in {'exponential_decay(0.001,s,600,0.99)': lambda s: T.exponential_decay(.001, s, 600, .99), 'exponential_decay(0.001,s,600,0.99,staircase=True)': lambda s: T.exponential_decay(.001, s, 600, .99, staircase=True), 'inverse_time_decay(0.1,s,10,0.5)': lambda s: T.inverse_time_decay(.1, s, 10, .5), 'inverse_time_decay(0.1,s,10,0.5,staircase=True)': lambda s: T.inverse_time_decay(.1, s, 10, .5, staircase=True), 'natural_exp_decay(0.1,s,10,0.5)': lambda s: T.natural_exp_decay(.1, s, 10, .5), 'polynomial_decay(0.1,s,10,0.01,2.0)': lambda s: T.polynomial_decay(.1, s, 10, .01, 2.), 'polynomial_decay(0.1,s,10,0.01,0.5,cycle=True)': lambda s: T.polynomial_decay(.1, s, 10, .01, .5, cycle=True), 'piecewise_constant(s,[5,10],[1.0,0.5,0.1])': lambda s: T.piecewise_constant(s, [5, 10], [1., .5, .1]), 'cosine_decay(0.1,s,20)': lambda s: T.cosine_decay(.1, s, 20), 'cosine_decay_restarts(0.1,s,5)': lambda s: T.cosine_decay_restarts(.1, s, 5), 'linear_cosine_decay(0.1,s,20)': lambda s: T.linear_cosine_decay(.1, s, 20)}.items():
            for dt in (tf.int32, tf.int64):
                with tf.Graph().as_default(), tf.Session(config=config()) as s:
                    p = tf.placeholder(dt, [])
                    o = f(p)
                    vals = np.array([s.run(o, {p: k}) for k in st], F32)
                d.case({'op': 'py:' + nm, 'steps': st, 'step_type': dt.name, 'outputs': [d.put(vals)], 'tol': {'rtol': 2e-6, 'atol': 1e-9}})


def engine():
    """Ops of the engine that the functions above leave out: checks, passing, older batch norms, updates by handle."""
    for dt in FLOATS:
        op('CheckNumerics', {'message': 'checked'}, tensor=rand(rng('cn', str(dt)), (2, 3), dt))
    for bad in (A(1, NAN), A(INF, 1), A(-INF, 2), A(NAN, INF)):
        op('CheckNumerics', {'message': 'checked'}, tensor=bad, _err=True)
    r = rng('idn')
    op('IdentityN', input=[rand(r, (2, 3), F32), rand(r, (3,), F64), rand(r, (2,), I32)])
    op('IdentityN', input=[np.array([b'a', b'b'], object)], _grad=False)
    op('Snapshot', input=rand(r, (2, 3), F32))
    for dt in (np.complex64, np.complex128):
        op('Conj', input=(rand(r, (2, 3), F64) + 1j * rand(r, (2, 3), F64)).astype(dt), _tol={'exact': True})
    fused(r)
    strings = np.array([b's3://b', b'aaa', b'12', b'\n', b'abc', b'a\nc', b'AB', b'xx', b'', b'ab', b'a.c', b']'], object)
    for pattern in ('^s3://.*', 'a+', 'a|ab', '\\d+', '.', '[[:alpha:]]+', 'a.c', '(?i)ab', 'x{2}', 'a\\.c', '(?:a|b)*?', '[^a-c]+', '[\\]x]+', '\\w*'):
        op('StaticRegexFullMatch', {'pattern': pattern}, input=strings, _grad=False)
    for dt in [F32, I32]:
        op('PlaceholderWithDefault', {'shape': [None, 3]}, input=rand(rng('pwd', str(dt)), (2, 3), dt))
    T = {'rtol': 2e-5, 'atol': 2e-5}
    r = rng('bn2')
    for sh in [(2, 3, 3, 2), (4, 1, 1, 3)]:
        c = sh[-1]
        x, s, b, m, v = rand(r, sh, F32), rand(r, (c,), F32, .5, 1.5), rand(r, (c,), F32), rand(r, (c,), F32), rand(r, (c,), F32, .5, 2)
        op('FusedBatchNormV2', {'epsilon': 1e-3, 'is_training': True}, x=x, scale=s, offset=b, mean=np.zeros(0, F32), variance=np.zeros(0, F32), _tol=T, _grad=False, _note='outputs 3,4: batch mean and biased variance')
        def build(ts, tr):
            mv = ts[3:] if not tr else [tf.zeros([0]), tf.zeros([0])]
            y = raw.FusedBatchNormV2(x=ts[0], scale=ts[1], offset=ts[2], mean=mv[0], variance=mv[1], epsilon=1e-3, is_training=tr)
            return [y[0]], y[0].op
        run_case('FusedBatchNormV2', lambda ts: build(ts, True), [x, s, b], tol=T, gtol={'rtol': 1e-4, 'atol': 1e-4}, note='training, output 0 only, with gradients; inputs mean and variance are empty')
        run_case('FusedBatchNormV2', lambda ts: build(ts, False), [x, s, b, m, v], tol=T, gtol={'rtol': 1e-4, 'atol': 1e-4}, note='inference, output 0 only, with gradients')
    x, dy = rand(r, (2, 2, 2, 3), F32), rand(r, (2, 2, 2, 3), F32)
    for o in ('FusedBatchNormGrad', 'FusedBatchNormGradV2'):
        op(o, {'epsilon': 1e-3, 'is_training': True}, y_backprop=dy, x=x, scale=rand(r, (3,), F32, .5, 1.5), reserve_space_1=x.mean((0, 1, 2)), reserve_space_2=x.var((0, 1, 2)), _tol={'rtol': 1e-4, 'atol': 1e-4}, _grad=False)
        op(o, {'epsilon': 1e-3, 'is_training': False}, y_backprop=dy, x=x, scale=rand(r, (3,), F32, .5, 1.5), reserve_space_1=rand(r, (3,), F32), reserve_space_2=rand(r, (3,), F32, .5, 2), _tol={'rtol': 1e-4, 'atol': 1e-4}, _grad=False)
    asserts()
    by_handle()


def fused(r):
    """Ops that a graph optimizer makes: no Python function of TensorFlow's builds them."""
    from tensorflow.python.framework import op_def_library
    def build(name, **kw):
        def f(ts):
            g = tf.get_default_graph()
            op_def_library.apply_op(name, name='fused', **{k: v(ts) if callable(v) else v for k, v in kw.items()})
            node = [o for o in g.get_operations() if o.type == name][-1]
            return node.outputs, node
        return f
    for ops in (['BiasAdd'], ['BiasAdd', 'Relu'], ['BiasAdd', 'Relu6'], ['BiasAdd', 'Elu'], ['BiasAdd', 'Tanh'], ['BiasAdd', 'Sigmoid']):
        for ta, tb in ((False, False), (True, False), (False, True)):
            a, b = rand(r, (4, 3) if ta else (3, 4), F32), rand(r, (5, 4) if tb else (4, 5), F32)
            run_case('_FusedMatMul', build('_FusedMatMul', a=lambda t: t[0], b=lambda t: t[1], args=lambda t: [t[2]], fused_ops=ops, transpose_a=ta, transpose_b=tb, epsilon=0.0, leakyrelu_alpha=0.2),
                     [a, b, rand(r, (5,), F32)], grad=False, tol={'rtol': 1e-5, 'atol': 1e-5})
    x, f = rand(r, (1, 5, 4, 2), F32), rand(r, (3, 3, 2, 3), F32)
    vec = lambda lo=-2, hi=2: rand(r, (3,), F32, lo, hi)
    for ops in (['BiasAdd'], ['BiasAdd', 'Relu'], ['BiasAdd', 'Relu6'], ['BiasAdd', 'Elu'], ['FusedBatchNorm'], ['FusedBatchNorm', 'Relu'], ['FusedBatchNorm', 'Relu6'], ['FusedBatchNorm', 'Elu']):
        for padding, st in (('SAME', 1), ('VALID', 2)):
            args = [vec()] if ops[0] == 'BiasAdd' else [vec(.5, 1.5), vec(), vec(), vec(.5, 2)]
            run_case('_FusedConv2D', build('_FusedConv2D', input=lambda t: t[0], filter=lambda t: t[1], args=lambda t: t[2:], host_args=[], num_args=lambda t: len(t) - 2, fused_ops=ops, strides=[1, st, st, 1], padding=padding, explicit_paddings=[], data_format='NHWC', filter_format='HWIO', dilations=[1, 1, 1, 1], use_cudnn_on_gpu=True, epsilon=1e-3, leakyrelu_alpha=0.2),
                     [x, f] + args, grad=False, tol={'rtol': 1e-5, 'atol': 1e-5})

    # The kernel of _FusedBatchNormEx is not in every build: recorded from the two nodes it stands for.
    xb, s, b, m, v = rand(r, (2, 3, 3, 4), F32), rand(r, (4,), F32, .5, 1.5), rand(r, (4,), F32), rand(r, (4,), F32), rand(r, (4,), F32, .5, 2)
    for mode in ('Identity', 'Relu'):
        for training in (True, False):
            mv = [np.zeros(0, F32)] * 2 if training else [m, v]
            def composed(t, mode=mode, training=training):
                y = raw.FusedBatchNormV3(x=t[0], scale=t[1], offset=t[2], mean=t[3], variance=t[4], epsilon=1e-3, is_training=training)
                return [tf.nn.relu(y[0]) if mode == 'Relu' else y[0], y[1], y[2]], None
            run_case('_FusedBatchNormEx', composed, [xb, s, b] + mv, grad=False, tol={'rtol': 2e-5, 'atol': 2e-5}, note='as FusedBatchNormV3 and Relu give it',
                     extra={'attrs': {'T': 'float32', 'U': 'float32', 'activation_mode': mode, 'epsilon': 1e-3, 'is_training': training}})


def asserts():
    """Assert: what it says about the data. Only failures are recorded."""
    if not want('Assert'):
        return
    d = Dir.get('Assert')
    data = [F32(.1), F32(1 / 3), F32(1e10), F64(1 / 3), F32(NAN), F32(-INF), np.array([True, False]), i32(1, 2, 3, 4), np.arange(8, dtype=I32).reshape(2, 4), np.arange(8, dtype=F32).reshape(2, 2, 2), np.zeros((2, 0), F32), F16(.1),
            np.array([b'a b', b'c\n"\'d'], object), np.array([[b'a', b'b'], [b'c', b'd']], object), I64(-5)]
    cases = [([v], 3) for v in data] + [([np.arange(27, dtype=I32).reshape(3, 3, 3)], n) for n in (0, 1, 4, 10, 100, -1)] + [([F32(1), np.asarray(b'x', object), i32(1, 2, 3, 4)], 3)]
    for values, summarize in cases:
        with tf.Graph().as_default(), tf.Session(config=config()) as s:
            node = raw.Assert(condition=tf.constant(False), data=[tf.constant(v) for v in values], summarize=summarize)
            rec = {'op': 'Assert', 'attrs': attr_json(node), 'inputs': [d.put(np.asarray(False))] + [d.put(v) for v in values]}
            try:
                s.run(node)
            except tf.errors.OpError as e:
                rec['error'] = err_json(e)
            d.case(rec)


def by_handle():
    """The update ops on resource variables: state and steps as in optimisers()."""
    S = lambda v: np.asarray(F32(v))
    g = lambda k: rand(rng('rg', k), (4, 2), F32, -1, 1)
    V, Z = rand(rng('ropt'), (4, 2), F32), np.zeros((4, 2), F32)
    def seq(name, attrs, state0, kwargs_of):
        if not want(name):
            return
        d = Dir.get(name)
        rec = {'op': name, 'attrs': attrs, 'state': list(state0), 'initial': [d.put(v) for v in state0.values()], 'steps': [], 'tol': {'rtol': 2e-6, 'atol': 1e-7}}
        with tf.Graph().as_default(), tf.Session(config=config()) as s:
            vs = {k: tf.Variable(v, name=k, use_resource=True) for k, v in state0.items()}
            s.run(tf.global_variables_initializer())
            for k in range(5):
                kw = kwargs_of(k)
                s.run(getattr(raw, name)(**{n: v.handle for n, v in vs.items()}, **{n: tf.constant(v) for n, v in kw.items()}, **attrs))
                rec['steps'].append({'inputs': {n: d.put(v) for n, v in kw.items()}, 'after': [d.put(s.run(v)) for v in vs.values()]})
        d.case(rec)
    seq('ResourceApplyGradientDescent', {'use_locking': False}, {'var': V}, lambda k: {'alpha': S(.1), 'delta': g(k)})
    for nes in (False, True):
        seq('ResourceApplyMomentum', {'use_nesterov': nes}, {'var': V, 'accum': Z}, lambda k: {'lr': S(.1), 'grad': g(k), 'momentum': S(.9)})
        seq('ResourceApplyAdam', {'use_nesterov': nes}, {'var': V, 'm': Z, 'v': Z}, lambda k: {'beta1_power': S(.9 ** (k + 1)), 'beta2_power': S(.999 ** (k + 1)), 'lr': S(.01), 'beta1': S(.9), 'beta2': S(.999), 'epsilon': S(1e-8), 'grad': g(k)})
    for o in ('AssignVariableOp', 'AssignAddVariableOp', 'AssignSubVariableOp'):
        seq(o, {}, {'resource': V}, lambda k: {'value': g(k)})


def rnn():
    T = {'rtol': 1e-5, 'atol': 1e-6}
    r = rng('rnn')
    b, n, u = 2, 3, 4
    for fb, cc, ph in [(1., -1., False), (0., 3., False), (1., -1., True), (1., .5, True)]:
        z = lambda: rand(r, (u,), F32, -.5, .5)
        run_case('LSTMBlockCell', lambda t: (lambda y: (list(y), y[0].op))(raw.LSTMBlockCell(x=t[0], cs_prev=t[1], h_prev=t[2], w=t[3], wci=t[4], wcf=t[5], wco=t[6], b=t[7], forget_bias=fb, cell_clip=cc, use_peephole=ph)), [rand(r, (b, n), F32), rand(r, (b, u), F32), rand(r, (b, u), F32), rand(r, (n + u, 4 * u), F32, -.5, .5), z(), z(), z(), rand(r, (4 * u,), F32, -.5, .5)], grad=False, tol=T, note='gates in w and b: i, ci, f, o')
    run_case('GRUBlockCell', lambda t: (lambda y: (list(y), y[0].op))(raw.GRUBlockCell(x=t[0], h_prev=t[1], w_ru=t[2], w_c=t[3], b_ru=t[4], b_c=t[5])), [rand(r, (b, n), F32), rand(r, (b, u), F32), rand(r, (n + u, 2 * u), F32), rand(r, (n + u, u), F32), rand(r, (2 * u,), F32), rand(r, (u,), F32)], grad=False, tol=T)
    try:
        C = tf.nn.rnn_cell
        C.BasicLSTMCell
    except Exception as e:
        print('rnn cells skipped (install tf-keras): ', str(e)[:100], file=sys.stderr)
        return
    cells = {'BasicLSTMCell(4)': lambda: C.BasicLSTMCell(u), 'BasicLSTMCell(4,forget_bias=0)': lambda: C.BasicLSTMCell(u, forget_bias=0.), 'LSTMCell(4,use_peepholes,cell_clip=0.5)': lambda: C.LSTMCell(u, use_peepholes=True, cell_clip=.5), 'LSTMCell(4,num_proj=3,proj_clip=0.2)': lambda: C.LSTMCell(u, num_proj=3, proj_clip=.2), 'GRUCell(4)': lambda: C.GRUCell(u), 'BasicRNNCell(4)': lambda: C.BasicRNNCell(u), 'MultiRNNCell([BasicLSTMCell(4),GRUCell(3)])': lambda: C.MultiRNNCell([C.BasicLSTMCell(u), C.GRUCell(3)]), 'DropoutWrapper(BasicLSTMCell(4),input 0.5 output 0.8,seed=5)': lambda: C.DropoutWrapper(C.BasicLSTMCell(u), input_keep_prob=.5, output_keep_prob=.8, seed=5)}
    if not want('rnn'):
        return
    d = Dir.get('rnn')
    flat = tf.nest.flatten
    for nm, mk in cells.items():
        for mode in ('dynamic_rnn', 'dynamic_rnn sequence_length=[2,5]', 'static_rnn'):
            if 'Dropout' in nm and mode != 'static_rnn':   # inside a while loop the draws of the iterations are unordered
                continue
            with tf.Graph().as_default(), tf.Session(config=config()) as s:
                x = tf.placeholder(tf.float32, [b, 5, n])
                cell = mk()
                with tf.variable_scope('net', initializer=tf.random_uniform_initializer(-.5, .5, seed=3)):
                    if mode == 'static_rnn':
                        ys, st = tf.nn.static_rnn(cell, tf.unstack(x, axis=1), dtype=tf.float32)
                        y = tf.stack(ys, 1)
                    else:
                        y, st = tf.nn.dynamic_rnn(cell, x, sequence_length=[2, 5] if 'seq' in mode else None, dtype=tf.float32)
                vs = tf.trainable_variables()
                xv = rand(rng('rnnx'), (b, 5, n), F32)
                gy = rand(rng('rnngy', nm), (b, 5, y.shape[2]), F32, -1, 1)
                gs = tf.gradients(y, [x] + vs, grad_ys=[tf.constant(gy)])
                s.run(tf.global_variables_initializer())
                init = s.run(vs)
                if 'Dropout' in nm:
                    seeds = [(o.name, o.get_attr('seed'), o.get_attr('seed2')) for o in tf.get_default_graph().get_operations() if o.type == 'RandomUniform' and 'Initializer' not in o.name]
                    yv, sv = s.run([y, flat(st)], {x: xv})
                    extra = {'random nodes': seeds}
                    gv = None
                else:
                    yv, sv, gv = s.run([y, flat(st), gs], {x: xv})
                    extra = {}
                d.case(dict({'op': 'py:' + mode.split()[0], 'params': {'cell': nm, 'mode': mode, 'batch': b, 'time': 5, 'features': n, 'initializer': 'random_uniform(-0.5,0.5,seed=3) for every variable without its own'},
                        'variables': [v.op.name for v in vs], 'values': [d.put(v) for v in init], 'inputs': [d.put(xv)], 'outputs': [d.put(yv)], 'final_state': [d.put(v) for v in sv], 'dy': [d.put(gy)],
                        'dx': [d.put(v) for v in gv[:1]] if gv else None, 'dvariables': [d.put(v) for v in gv[1:]] if gv else None, 'tol': {'rtol': 2e-5, 'atol': 2e-6}}, **extra))


def mnist(path, kind):
    def rd(f, off):
        with gzip.open(os.path.join(path, f)) as h:
            return np.frombuffer(h.read()[off:], np.uint8)
    p = {'train': 'train', 'test': 't10k'}[kind]
    return rd(p + '-images-idx3-ubyte.gz', 16).reshape(-1, 784), rd(p + '-labels-idx1-ubyte.gz', 8)


def training(path):
    """Whole runs. Images by index in the training file after the 5000 validation items: step k uses items
    5000 + k*batch .. 5000 + (k+1)*batch - 1, float32(byte) * float32(1/255)."""
    if not path or not os.path.isdir(path):
        print('training runs skipped: no MNIST folder', file=sys.stderr)
        return
    img, lab = mnist(path, 'train')
    img, lab = img[5000:].astype(F32) * F32(1 / 255), lab[5000:]
    eye = np.eye(10, dtype=F32)
    batch = lambda k, n: (img[k * n:(k + 1) * n], eye[lab[k * n:(k + 1) * n]])

    def mlp(x, y_, w, reduce):
        hid = tf.nn.relu(tf.nn.xw_plus_b(x, w[0], w[1]))
        y = tf.nn.softmax(tf.nn.xw_plus_b(hid, w[2], w[3]))
        return reduce(y_ * tf.log(tf.clip_by_value(y, 1e-10, 1.0)))

    def mlp_vars():
        w1 = tf.Variable(tf.truncated_normal([784, 100], stddev=1. / 28, seed=1), name='hid_w'); b1 = tf.Variable(tf.zeros([100]), name='hid_b')
        w2 = tf.Variable(tf.truncated_normal([100, 10], stddev=.1, seed=2), name='sm_w'); b2 = tf.Variable(tf.zeros([10]), name='sm_b')
        return w1, b1, w2, b2
    T = tf.train
    if want('train_mlp'):
        d = Dir.get('train_mlp')
        for nm, mk in {'GradientDescentOptimizer(0.001)': lambda: T.GradientDescentOptimizer(.001), 'AdamOptimizer(0.01)': lambda: T.AdamOptimizer(.01)}.items():
            with tf.Graph().as_default(), tf.Session(config=config()) as s:
                gs = tf.Variable(0, name='global_step', trainable=False)
                w = mlp_vars(); x = tf.placeholder(tf.float32, [None, 784]); y_ = tf.placeholder(tf.float32, [None, 10])
                loss = -mlp(x, y_, w, tf.reduce_sum)
                tr = mk().minimize(loss, global_step=gs)
                s.run(tf.global_variables_initializer())
                init = s.run(list(w)); losses = []
                for k in range(20):
                    xs, ys = batch(k, 100)
                    losses.append(s.run([loss, tr], {x: xs, y_: ys})[0] if False else s.run(loss, {x: xs, y_: ys})); s.run(tr, {x: xs, y_: ys})
                vs = tf.global_variables()
                d.case({'op': 'py:replica MLP', 'params': {'optimizer': nm, 'batch': 100, 'steps': 20, 'hidden': 100, 'loss': '-sum(y_*log(clip(softmax,1e-10,1)))', 'hid_w': 'truncated_normal stddev float32(1/28), seeds (87654321,1)', 'sm_w': 'truncated_normal stddev 0.1, seeds (87654321,2)', 'loss is measured': 'before the update of the same batch'},
                        'initial': {v.op.name: d.put(a) for v, a in zip(w[2:], init[2:])}, 'initial_sum': {v.op.name: [float(np.sum(a, dtype=F64)), float(np.sum(np.abs(a), dtype=F64))] for v, a in zip(w, init)}, 'losses': d.put(np.array(losses, F32)), 'final': {v.op.name: d.put(s.run(v)) for v in vs if v.op.name not in ('hid_w/Adam', 'hid_w/Adam_1')},
                        'tol': {'losses rtol': 5e-6, 'final atol': 5e-6, 'hid_w atol': 5e-6 if nm[0] == 'G' else 5e-4}})
    if want('train_towers'):
        d = Dir.get('train_towers')
        for nm, mk in {'GradientDescentOptimizer(0.1)': lambda: T.GradientDescentOptimizer(.1), 'AdamOptimizer(0.01)': lambda: T.AdamOptimizer(.01)}.items():
            res = {}
            for mode in ('one batch of 64', 'two towers of 32'):
                with tf.Graph().as_default(), tf.Session(config=config()) as s:
                    w = mlp_vars(); x = tf.placeholder(tf.float32, [64, 784]); y_ = tf.placeholder(tf.float32, [64, 10])
                    o = mk(); mean = lambda v: tf.reduce_mean(tf.reduce_sum(v, 1))
                    if mode[0] == 'o':
                        gv = o.compute_gradients(-mlp(x, y_, w, mean), list(w))
                    else:
                        tw = [o.compute_gradients(-mlp(x[i * 32:i * 32 + 32], y_[i * 32:i * 32 + 32], w, mean), list(w)) for i in range(2)]
                        gv = [(tf.reduce_mean(tf.concat([tf.expand_dims(a[0], 0), tf.expand_dims(b[0], 0)], 0), 0), a[1]) for a, b in zip(*tw)]
                    tr = o.apply_gradients(gv)
                    loss = -mlp(x, y_, w, mean)
                    s.run(tf.global_variables_initializer())
                    losses = []
                    for k in range(5):
                        xs, ys = batch(k, 64)
                        losses.append(s.run(loss, {x: xs, y_: ys})); s.run(tr, {x: xs, y_: ys})
                    fin = s.run(list(w))
                    d.case({'op': 'py:towers', 'params': {'optimizer': nm, 'mode': mode, 'steps': 5, 'loss': 'mean over rows of -sum(y_*log(clip(softmax,1e-10,1)))', 'weights': 'as train_mlp'}, 'losses': d.put(np.array(losses, F32)), 'final': {v.op.name: d.put(a) for v, a in list(zip(w, fin))[1:]}, 'final_sum': {v.op.name: [float(np.sum(a, dtype=F64)), float(np.sum(np.abs(a), dtype=F64))] for v, a in zip(w, fin)}, 'tol': {'losses rtol': 5e-6, 'final atol': 5e-6}})
    if want('train_cnn'):
        d = Dir.get('train_cnn')
        decay, eps = .9, .001
        for drop in (False, True):
            with tf.Graph().as_default(), tf.Session(config=config()) as s:
                x = tf.placeholder(tf.float32, [None, 784]); y = tf.placeholder(tf.float32, [None, 10]); ups = []
                var = lambda n, sh, i, tr=True: tf.get_variable(n, sh, initializer=i, trainable=tr, use_resource=False)
                tn = lambda sd: tf.truncated_normal_initializer(0., .01, seed=sd)
                def bn(t, scope, c, train):
                    with tf.variable_scope(scope + '/BatchNorm', reuse=tf.AUTO_REUSE):
                        beta = var('beta', [c], tf.zeros_initializer()); mm = var('moving_mean', [c], tf.zeros_initializer(), False); mv = var('moving_variance', [c], tf.ones_initializer(), False)
                    t4 = t if t.shape.rank == 4 else tf.reshape(t, [-1, 1, 1, c])
                    if train:
                        o, m, v = tf.nn.fused_batch_norm(t4, tf.ones([c]), beta, epsilon=eps)
                        up = [tf.assign_sub(mm, (mm - m) * (1 - decay)), tf.assign_sub(mv, (mv - v) * (1 - decay))]
                        with tf.control_dependencies(up):
                            o = tf.identity(o)
                    else:
                        o = tf.nn.fused_batch_norm(t4, tf.ones([c]), beta, mm, mv, epsilon=eps, is_training=False)[0]
                    return tf.nn.relu(o if t.shape.rank == 4 else tf.reshape(o, [-1, c]))
                def net(x, train):
                    with tf.variable_scope('ConvNet', reuse=tf.AUTO_REUSE):
                        t = tf.reshape(x, [-1, 28, 28, 1])
                        for i, (ci, co) in enumerate([(1, 6), (6, 12)]):
                            n = 'conv_%d' % (i + 1)
                            t = tf.nn.conv2d(t, var(n + '/weights', [5, 5, ci, co], tn(i + 1)), [1, 1, 1, 1], 'SAME')
                            t = tf.nn.max_pool(bn(t, n, co, train), [1, 2, 2, 1], [1, 2, 2, 1], 'VALID')
                        t = tf.reshape(t, [-1, 588])
                        t = bn(tf.matmul(t, var('fc/weights', [588, 100], tn(3))), 'fc', 100, train)
                        if train and drop:
                            t = tf.nn.dropout(t, rate=.5, seed=5)
                        return tf.nn.bias_add(tf.matmul(t, var('prob/weights', [100, 10], tn(4))), var('prob/biases', [10], tf.zeros_initializer()))
                loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.stop_gradient(y), logits=net(x, True)))
                tr = T.AdamOptimizer(.001).minimize(loss)
                acc = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(net(x, False), 1), tf.argmax(y, 1)), tf.float32)); infer = net(x, False)
                s.run(tf.global_variables_initializer())
                tv = [v for v in tf.trainable_variables() if 'fc/weights' not in v.op.name]
                if drop:
                    first = None
                else:
                    # gradients of the very first batch: well conditioned, unlike Adam's later steps
                    gr = tf.gradients(loss, tv)
                    keep = s.run([v for v in tf.global_variables() if 'moving' in v.op.name])
                    first = dict(zip([v.op.name for v in tv], s.run(gr, {x: batch(0, 64)[0], y: batch(0, 64)[1]})))
                    s.run([tf.assign(v, a) for v, a in zip([v for v in tf.global_variables() if 'moving' in v.op.name], keep)])
                losses, accs = [], []
                for k in range(5):
                    xs, ys = batch(k, 64)
                    losses.append(s.run([loss, tr], {x: xs, y: ys})[0]); accs.append(s.run(acc, {x: xs, y: ys}))
                lg = s.run(infer, {x: batch(0, 64)[0][:8]})
                big = {'ConvNet/fc/weights', 'ConvNet/fc/weights/Adam', 'ConvNet/fc/weights/Adam_1'}
                vs = tf.global_variables()
                if drop:
                    vs = [v for v in vs if 'Adam' not in v.op.name]
                fin = dict(zip([v.op.name for v in vs], s.run(vs)))
                d.case({'op': 'py:slim CNN', 'params': {'batch': 64, 'steps': 5, 'optimizer': 'AdamOptimizer(0.001)', 'dropout': 'rate 0.5, seeds (87654321,5), noise shape [64,100]' if drop else 'none', 'weights': 'truncated_normal stddev 0.01, seeds (87654321, 1..4) for conv_1, conv_2, fc, prob', 'batch norm': 'decay 0.9, epsilon 0.001, no scale; moving values updated in the forward pass of the training branch', 'max pool': '2x2 stride 2 VALID', 'accuracy': 'inference branch on the same batch after the update', 'logits': 'inference branch, first 8 images of batch 0, after step 5'},
                        'losses': d.put(np.array(losses, F32)), 'accuracies': d.put(np.array(accs, F32)), 'logits': d.put(lg), 'first_gradients': {n: d.put(a) for n, a in first.items()} if first else None, 'final': {n: d.put(a) for n, a in fin.items() if n not in big}, 'final_sum': {n: [float(np.sum(a, dtype=F64)), float(np.sum(np.abs(a), dtype=F64))] for n, a in fin.items()}, 'tol': {'losses rtol': 1e-4, 'logits atol': 1e-4, 'first_gradients atol': 5e-6, 'final atol': 1e-5 if drop else 2e-3, 'note': 'TensorFlow with other kernels (oneDNN) stays within these; the run without dropout is chaotic after the first Adam steps: check losses, logits and first_gradients, the final values only roughly'}})


def main():
    global only
    out = sys.argv[1]
    path = None
    for a in sys.argv[2:]:
        if a.startswith('only='):
            only = set(a[5:].split(','))
        else:
            path = a
    Dir.root = out
    os.makedirs(out, exist_ok=True)
    for f in (unary, binary, reductions, matmul, conv, norm, arrays, strings, random_ops, images, optimisers, rnn, engine):
        f()
        print(f.__name__, 'done', sum(d.n for d in Dir.open_dirs.values()), 'cases', file=sys.stderr)
    training(path or '')
    for d in Dir.open_dirs.values():
        d.index.close(); d.data.close()
    if only is None:
        with open(os.path.join(out, 'ops.txt'), 'w') as h:
            h.write(''.join('%s %d\n' % (n, d.n) for n, d in sorted(Dir.open_dirs.items()) if d.n))
        with open(os.path.join(out, 'unsupported.json'), 'w') as h:
            json.dump({k: sorted(set(','.join(x) for x in v)) for k, v in sorted(skipped.items())}, h, indent=0)
        for n, d in Dir.open_dirs.items():
            if d.n == 0:
                for f in ('index.jsonl', 'arrays.npy'):
                    os.remove(os.path.join(out, n, f))
                os.rmdir(os.path.join(out, n))
    print(sum(d.n for d in Dir.open_dirs.values()), 'cases in', len(Dir.open_dirs), 'directories; TensorFlow', tf.__version__)


if __name__ == '__main__':
    main()
